-- one row: something that was decided and not decided otherwise since; `is_step`: a model's choice of tools
-- macro: standing_decisions(p_session)
select
    d.commit_id as commit_id,
    d.decided_at as decided_at,
    d.session_id as session_id,
    d.turn as turn,
    d.about as about,
    d.choice as choice,
    d.reason as reason,
    d.reason_source as reason_source,
    d.alternatives as alternatives,
    d.model as model,
    d.decided_ns as decided_ns,
    case when d.model = '' then 0 else 1 end as is_step
from decisions as d
join state as s on s.session_id = d.session_id and s.commit_id = d.commit_id
where d.session_id = p_session
  and s.session_id = p_session
  and s.kind = 'decision'
