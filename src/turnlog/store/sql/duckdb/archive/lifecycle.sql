-- one row: what was said of the session's lifecycle
from lifecycle
where session_id = $session
order by changed_ns
