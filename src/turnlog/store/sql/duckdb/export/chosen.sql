-- one row: a chosen span; one that still runs ends where it began, and of those that a dead process left `has_ended` is false too
create or replace temp macro chosen_spans(p_sessions, p_since, p_until) as table
select
    x.session_id,
    s.*
from (
    select
        *,
        commit_id not in (select commit_id from raw.interrupted) as has_ended
    from raw.spans
    union all by name
    select
        * replace (start_ns as end_ns),
        false as has_ended
    from raw.open_spans
) as s
join raw.sessions as x using (session_key)
where s.end_ns >= p_since
  and s.end_ns < p_until
  and (p_sessions is null or list_contains(p_sessions, x.session_id))
