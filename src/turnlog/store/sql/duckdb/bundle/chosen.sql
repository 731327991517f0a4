-- one row: a span of the chosen sessions: one that has ended, that its process died in (interrupted), or that ran (open; it ends at 0)
create or replace temp macro bundled_spans(p_sessions) as table
select
    x.session_id,
    p.process_id,
    s.*
from (
    select
        case when commit_id in (select commit_id from raw.interrupted) then 'interrupted' else 'ended' end as state,
        *
    from raw.spans
    union all by name
    select
        'open' as state,
        *
    from raw.open_spans
) as s
join raw.sessions as x using (session_key)
join raw.processes as p using (process_key)
where list_contains(p_sessions, x.session_id)
