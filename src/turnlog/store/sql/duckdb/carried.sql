-- What a bundle carries and is known here goes from `staged`. `known_…` are as in load.sql. That a span ended is better known than that
-- its process died in it, and that better than that it ran.
create or replace temp table carried_before as
with coming as (
    select
        rowid as place,
        record,
        commit_id,
        carried,
        case when record = 'start' then 2 when died_ns > 0 then 1 else 0 end as ignorance,
        substr(md5(concat(trace_id, span_id, start_ns)), 1, 16) as span_key
    from staged
    where record in ('start', 'end')
),
there as (
    select
        commit_id,
        case when outcome = 'interrupted' then 1 else 0 end as ignorance
    from known_spans
    where commit_id in (select commit_id from coming where carried)
    union all
    select
        commit_id,
        2 as ignorance
    from known_open_spans
    where commit_id in (select commit_id from coming where carried)
),
received as (
    select s.commit_id
    from known_spans as s
    join known_processes as p using (process_key)
    where starts_with(p.process_id, 'received:')
      and s.commit_id in (select span_key from coming where carried)
),
ranked as (
    select
        place,
        -- A writer's own rows come first.
        row_number() over (partition by commit_id order by ignorance, carried, place) as nth
    from coming
)
select c.place
from coming as c
left join (
    select
        commit_id,
        min(ignorance) as ignorance
    from there
    group by commit_id
) as t using (commit_id)
where c.carried
  and (
    t.ignorance <= c.ignorance
    or (c.record = 'start' and c.span_key in (from received))
    or c.place in (select place from ranked where nth > 1)
  );

delete from staged
where rowid in (from carried_before);

delete from staged
where carried
  and record = 'turn'
  and exists (
    select 1
    from known_turns as k
    join known_sessions as x using (session_key)
    where x.session_id = staged.session_id
      and k.turn_id = staged.turn_id
      and k.first_ns <= staged.start_ns
      and k.last_ns >= staged.end_ns
  );

delete from staged
where carried
  and record = 'loss'
  and (process_id, start_ns, name, lost) in (
    select
        p.process_id,
        l.at_ns,
        l.reason,
        l.lost
    from known_losses as l
    join known_processes as p using (process_key)
  );

-- Of a span that ran when it was first carried here, the context is known.
update staged
set context_changes = '[]'
where carried
  and commit_id in (select commit_id from known_context_changes);
