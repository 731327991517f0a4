-- one row: a turn of the session
from turns
where session_id = $session
order by turn
