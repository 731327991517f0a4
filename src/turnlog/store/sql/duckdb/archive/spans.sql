-- one row: a span of the session, with the number of its turn
select
    coalesce(t.turn, 0) as turn,
    s.*
from span_rows as s
left join turn_numbers as t using (session_id, turn_id)
where s.session_id = $session
order by s.start_ns
