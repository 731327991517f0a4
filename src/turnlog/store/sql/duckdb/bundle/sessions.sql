-- one row: a session
select
    session_id,
    first_ns,
    last_ns,
    agent
from raw.sessions
where list_contains($sessions, session_id)
order by session_id
