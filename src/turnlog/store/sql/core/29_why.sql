-- one row: a message that was in the context when a commit was decided, what it is and whether that is verified
-- macro: why(p_session, p_commit)
with asker as (
    select
        s.session_id as session_id,
        s.commit_id as decision_id,
        s.lineage as lineage,
        s.start_ns as at_ns
    from span_rows as s
    where s.session_id = p_session
      and s.lineage <> ''
      and s.commit_kind = 'decision'
      and (
          s.commit_id = p_commit
          or s.commit_id in (select a.asked_by from askings(p_session) as a where a.commit_id = p_commit and a.lineage = '')
      )
)
select
    d.decision_id as decision_commit,
    row_number() over (partition by d.decision_id order by m.position) as position,
    m.role as role,
    case
        when m.tool_commit <> '' then coalesce(o.source_kind, 'tool_output')
        when m.tool_call_id <> '' then 'tool_output'
        when m.role = 'assistant' then 'model_generated'
        when m.role = 'system' then 'operator'
        else 'user_supplied'
    end as source_kind,
    coalesce(o.verified, '') as verified,
    case when m.tool_commit <> '' then m.tool_commit else m.decision_commit end as source_commit,
    m.tool as tool,
    m.introduced_in as turn,
    m.summary as summary,
    m.message_hash as message_hash
from asker as d
join context_messages as m
    on m.session_id = d.session_id
    and m.lineage = d.lineage
    and m.added_ns <= d.at_ns
    and m.evicted_ns > d.at_ns
left join (
    select
        s.commit_id as commit_id,
        s.source_kind as source_kind,
        s.verified as verified
    from sources as s
    where s.session_id = p_session
      and s.tool <> ''
) as o on o.commit_id = m.tool_commit
where m.session_id = p_session
