-- one row: a message that came into or left a context of the session
from context_rows
where session_id = $session
order by ts_ns, position
