-- one row: one operation on one entry of the session's state
from entries
where session_id = $session
order by changed_ns, sequence
