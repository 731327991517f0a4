-- one row: a recorded change of session state
from commits
order by ended_ns, sequence
