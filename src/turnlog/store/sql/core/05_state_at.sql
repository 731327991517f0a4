-- one row: an entry of the session's state as it was after a turn
-- macro: state_at(p_session, p_turn)
select
    e.kind as kind,
    e.key as key,
    e.value as value,
    e.tier as tier,
    e.action as action,
    e.evidence as evidence,
    e.set_in_turn as turn,
    e.commit_id as commit_id,
    e.tool as tool,
    e.set_ns as changed_ns
from (
    select
        n.kind as kind,
        n.key as key,
        n.value as value,
        n.tier as tier,
        n.action as action,
        n.evidence as evidence,
        n.turn as set_in_turn,
        n.commit_id as commit_id,
        n.tool as tool,
        n.op as op,
        n.changed_ns as set_ns,
        row_number() over (partition by n.kind, n.key order by n.turn desc, n.changed_ns desc, n.sequence desc) as age
    from state_changes as n
    where n.session_id = p_session
      and n.turn <= p_turn
) as e
where e.age = 1
  and e.op = 'set'
