-- one row: something that one of the processes could not keep, and how much of it
select
    p.process_id,
    l.at_ns,
    l.reason,
    l.lost
from raw.losses as l
join raw.processes as p using (process_key)
where p.process_id in (select process_id from bundled_spans($sessions))
order by p.process_id, l.at_ns, l.reason, l.lost
