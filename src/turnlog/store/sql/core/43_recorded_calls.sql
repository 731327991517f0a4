-- one row: a call that ended (model, tool), or a commit by hand (told), and the tool call in which it ran
-- macro: recorded_calls(p_session)
with recursive above as (
    select
        c.trace_id as trace_id,
        c.span_id as span_id,
        c.parent_id as parent_id,
        '' as tool_span,
        0 as steps
    from span_rows as c
    where c.session_id = p_session
      and (c.commit_kind <> '' or c.replay_record <> '')
    union all
    select
        b.trace_id as trace_id,
        b.span_id as span_id,
        s.next_parent as parent_id,
        case when s.tool_commit = '' then '' else s.span_id end as tool_span,
        b.steps + 1 as steps
    from above as b
    join span_parents(p_session) as s on s.trace_id = b.trace_id and s.span_id = b.parent_id
    where b.tool_span = ''
      and b.steps < 64
)
select
    s.commit_id as commit_id,
    s.trace_id as trace_id,
    s.span_id as span_id,
    coalesce(n.turn, 0) as turn,
    case when s.operation = 'execute_tool' then 'tool' when s.operation = '' then 'told' else 'model' end as call_kind,
    s.tool as tool,
    case when s.operation = 'execute_tool' then s.input_hash else s.context_hash end as call_key,
    s.commit_kind as commit_kind,
    s.outcome as outcome,
    s.error_type as error,
    s.status_message as error_message,
    s.input_hash as input_hash,
    s.input_summary as input_summary,
    s.output_hash as output_hash,
    s.output_summary as output_summary,
    s.delta as delta,
    s.replay_record as replay_record,
    coalesce(a.tool_span, '') as inside,
    s.scope as scope,
    s.name as span_name,
    s.attributes as attributes,
    s.start_ns as started_ns,
    s.end_ns as ended_ns,
    s.commit_sequence as sequence,
    s.decision_id as decision_id
from span_rows as s
left join turn_numbers as n on n.session_id = s.session_id and n.turn_id = s.turn_id
left join above as a on a.trace_id = s.trace_id and a.span_id = s.span_id and a.tool_span <> ''
where s.session_id = p_session
  and s.outcome not in ('in_flight', 'interrupted')
  and (
    s.replay_record <> ''
    or (s.commit_kind <> '' and s.operation in ('execute_tool', 'chat', 'generate_content', 'text_completion'))
    or (s.operation = '' and s.commit_kind in ('decision', 'note', 'lifecycle'))
  )
