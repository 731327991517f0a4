-- one row: a span, with the number of its turn
select
    coalesce(t.turn, 0) as turn,
    s.*
from span_rows as s
left join turn_numbers as t using (session_id, turn_id)
order by s.start_ns
