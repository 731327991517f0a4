-- one row: a session that goes on with the work of another
-- view: continued_sessions
select
    s.session_id as session_id,
    max(s.previous_session) as previous_id,
    min(s.start_ns) as since_ns
from span_rows as s
where s.previous_session <> ''
group by s.session_id
