-- one row: a session
-- view: sessions
select
    s.session_id as session_id,
    s.agent as agent,
    s.first_at as started_at,
    s.last_at as last_active_at,
    coalesce(n.turn_count, 0) as turns,
    s.commit_count as commits,
    s.failure_count as failures,
    s.input_tokens as tokens_in,
    s.output_tokens as tokens_out,
    s.span_count as spans,
    s.first_ns as started_ns,
    s.last_ns as last_active_ns
from session_rows as s
join (
    select
        t.session_id as session_id,
        count(*) as turn_count
    from turn_rows as t
    group by t.session_id
) as n on n.session_id = s.session_id
