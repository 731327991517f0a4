-- one row: a process that was in the middle of work when the bundle was written, and how many of its spans ran
select
    p.host,
    p.pid,
    count(*) as spans
from bundle_spans as s
join bundle_processes as p using (process_id)
where s.state = 'open'
group by p.host, p.pid
order by p.host, p.pid
