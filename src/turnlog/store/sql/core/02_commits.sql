-- one row: a recorded change of session state (the commit log)
-- view: commits
select
    s.commit_id as commit_id,
    s.ended_at as committed_at,
    s.session_id as session_id,
    t.turn as turn,
    s.commit_kind as kind,
    s.tool as tool,
    s.input_hash as input_hash,
    s.input_summary as input_summary,
    s.output_hash as output_hash,
    s.output_summary as output_summary,
    s.delta as delta,
    s.outcome as outcome,
    case when s.outcome in ('ok', 'in_flight') then '' when s.error_type <> '' then s.error_type else s.outcome end as error,
    s.status_message as error_message,
    s.choice as choice,
    s.reason as reason,
    s.duration_ms as duration_ms,
    s.input_tokens as input_tokens,
    s.output_tokens as output_tokens,
    s.request_model as model,
    s.agent as agent,
    s.tool_call_id as tool_call_id,
    s.start_ns as started_ns,
    s.end_ns as ended_ns,
    s.commit_sequence as sequence,
    s.trace_id as trace_id,
    s.span_id as span_id
from span_rows as s
join turn_numbers as t on t.session_id = s.session_id and t.turn_id = s.turn_id
where s.commit_kind <> ''
