-- one row: the session
select * exclude (started_ns, last_active_ns, last_turn_ns, last_said_ns)
from sessions
where session_id = $session
