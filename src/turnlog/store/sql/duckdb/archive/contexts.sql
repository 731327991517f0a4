-- one row: a message that came into or left a context
from context_rows
order by ts_ns, position
