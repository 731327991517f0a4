-- The tail's rows use the keys that the store has given out; totals start at zero, because a reader adds both up.
insert into raw.processes
select *
from store.raw.processes
where process_id in (select process_id from staged)
  and process_id not in (select p.process_id from raw.processes as p);

insert into raw.sessions
select
    * replace (
        0 as span_count,
        0 as commit_count,
        0 as failure_count,
        0 as input_tokens,
        0 as output_tokens,
        0 as eviction_count,
        0 as doubt_count
    )
from store.raw.sessions
where session_id in (select session_id from staged)
  and session_id not in (select x.session_id from raw.sessions as x);
