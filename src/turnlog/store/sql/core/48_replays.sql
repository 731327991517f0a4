-- one row: a session that repeats another
-- view: replays
select distinct
    s.session_id as session_id,
    s.replay_of as replay_of
from span_rows as s
where s.replay_of <> ''
