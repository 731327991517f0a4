-- one row: a session, and how it stands: open, active, idle, dead (its process died in the middle of work), paused, closed or archived
-- view: sessions
select
    s.session_id as session_id,
    s.status as status,
    s.pinned as pinned,
    s.agent as agent,
    s.started_at as started_at,
    s.last_active_at as last_active_at,
    s.turns as turns,
    s.commits as commits,
    s.failures as failures,
    s.in_flight as in_flight,
    s.tokens_in as tokens_in,
    s.tokens_out as tokens_out,
    s.spans as spans,
    s.started_ns as started_ns,
    s.last_active_ns as last_active_ns,
    s.last_turn_ns as last_turn_ns,
    s.last_said_ns as last_said_ns
from session_standings(no_keys()) as s
