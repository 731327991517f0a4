-- one row: a turn
from turns
order by started_ns
