-- one row: a session
select * exclude (started_ns, last_active_ns, last_turn_ns, last_said_ns)
from sessions
