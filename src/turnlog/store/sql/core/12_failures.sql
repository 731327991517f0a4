-- one row: a commit that did not end well
-- view: failures
select
    c.commit_id as commit_id,
    c.committed_at as failed_at,
    c.session_id as session_id,
    c.turn as turn,
    c.kind as kind,
    c.tool as tool,
    c.outcome as outcome,
    c.error as error,
    c.error_message as error_message,
    c.input_hash as input_hash,
    c.input_summary as input_summary,
    c.duration_ms as duration_ms,
    c.ended_ns as failed_ns
from commits as c
where c.outcome not in ('ok', 'in_flight')
