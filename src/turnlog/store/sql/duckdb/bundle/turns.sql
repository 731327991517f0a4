-- one row: a turn, with its number in the session
select
    session_id,
    turn,
    turn_id,
    started_ns,
    ended_ns
from turn_numbers
where list_contains($sessions, session_id)
order by session_id, turn
