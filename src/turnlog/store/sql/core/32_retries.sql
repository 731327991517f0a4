-- one row: a further attempt of a turn or of a tool call, beside the original
-- view: retries
select
    a.session_id as session_id,
    'turn' as kind,
    a.attempt as attempt,
    a.original_turn as original_turn,
    '' as original_commit_id,
    a.turn as turn,
    '' as commit_id,
    '' as tool,
    o.outcome as original_outcome,
    a.outcome as outcome,
    o.tokens_in as original_tokens_in,
    a.tokens_in as tokens_in,
    o.tokens_out as original_tokens_out,
    a.tokens_out as tokens_out,
    o.duration_ms as original_duration_ms,
    a.duration_ms as duration_ms
from turn_attempts as a
join turn_attempts as o on o.session_id = a.session_id and o.turn = a.original_turn
where a.attempt > 1
union all
select
    a.session_id as session_id,
    'tool' as kind,
    a.attempt as attempt,
    o.turn as original_turn,
    a.original_commit_id as original_commit_id,
    a.turn as turn,
    a.commit_id as commit_id,
    a.tool as tool,
    o.outcome as original_outcome,
    a.outcome as outcome,
    cast(0 as bigint) as original_tokens_in,
    cast(0 as bigint) as tokens_in,
    cast(0 as bigint) as original_tokens_out,
    cast(0 as bigint) as tokens_out,
    o.duration_ms as original_duration_ms,
    a.duration_ms as duration_ms
from tool_attempts as a
join commits as o on o.session_id = a.session_id and o.commit_id = a.original_commit_id
where a.attempt > 1
