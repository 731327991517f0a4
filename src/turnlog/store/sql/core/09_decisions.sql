-- one row: something that was decided, and why
-- view: decisions
select
    s.commit_id as commit_id,
    s.ended_at as decided_at,
    s.session_id as session_id,
    t.turn as turn,
    s.decision_about as about,
    s.choice as choice,
    s.reason as reason,
    s.reason_source as reason_source,
    s.alternatives as alternatives,
    s.request_model as model,
    s.end_ns as decided_ns
from span_rows as s
join turn_numbers as t on t.session_id = s.session_id and t.turn_id = s.turn_id
where s.commit_kind = 'decision'
  and s.choice <> ''
