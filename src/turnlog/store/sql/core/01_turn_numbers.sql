-- one row: a turn, with its number in the session
-- view: turn_numbers
select
    t.session_id as session_id,
    row_number() over (partition by t.session_id order by t.first_ns, t.turn_id) as turn,
    t.turn_id as turn_id,
    t.first_ns as started_ns,
    t.last_ns as ended_ns
from turn_rows as t
