-- one row: a process that worked in a session, and when
-- macro: writers(p_session)
select
    p.process_id as process_id,
    p.host as host,
    p.pid as pid,
    min(s.start_ns) as since_ns,
    max(s.end_ns) as last_ns
from span_rows as s
join process_rows as p on p.process_key = s.process_key
where s.session_id = p_session
  and s.turn_id <> ''
  and s.self_reported = ''
  and s.lifecycle_state = ''
  and s.pinned = ''
  and s.lease_epoch = 0
  and s.lease_fences = '[]'
group by p.process_id, p.host, p.pid
