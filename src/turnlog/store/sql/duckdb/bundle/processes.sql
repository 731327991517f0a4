-- one row: a process whose spans are here; `resource` is what it says of itself, as JSON
select
    process_id,
    host,
    pid,
    first_ns,
    resource
from raw.processes
where process_id in (select process_id from bundled_spans($sessions))
order by process_id
