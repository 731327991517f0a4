-- one row: one operation on one entry of session state
from entries
order by changed_ns, sequence
