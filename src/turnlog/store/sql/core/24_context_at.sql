-- one row: a message that the model could see in the last model call of a turn that no tool call made
-- macro: context_at(p_session, p_turn)
select
    row_number() over (order by m.position) as position,
    m.role as role,
    m.message_key as key,
    m.summary as summary,
    m.tool as tool,
    m.tool_call_id as tool_call_id,
    m.introduced_in as turn,
    case when m.tool_commit <> '' then m.tool_commit else m.decision_commit end as source_commit,
    m.message_hash as message_hash,
    m.lineage as lineage,
    k.commit_id as commit_id
from (
    select
        c.lineage as lineage,
        c.commit_id as commit_id,
        c.started_ns as started_ns,
        row_number() over (order by l.depth, c.started_ns desc, c.commit_id) as age
    from commits as c
    join lineages(p_session) as l on l.lineage = c.lineage
    where c.session_id = p_session
      and c.turn = p_turn
) as k
join context_messages as m on m.lineage = k.lineage
where k.age = 1
  and m.session_id = p_session
  and m.added_ns <= k.started_ns
  and m.evicted_ns > k.started_ns
