-- one row: what was said of a session's lifecycle
from lifecycle
order by changed_ns
