-- one row: a file or source that a session touched in its last turns, with the last action on it
-- macro: working_set(p_session, p_last_turns)
select
    w.kind as kind,
    w.key as key,
    w.action as last_action,
    w.evidence as evidence,
    w.renamed_from as renamed_from,
    w.touched_in_turn as turn,
    w.touches as touches,
    w.tool as tool,
    w.commit_id as commit_id,
    w.touched_at as changed_at
from (
    select
        e.kind as kind,
        e.key as key,
        e.action as action,
        e.evidence as evidence,
        e.renamed_from as renamed_from,
        e.turn as touched_in_turn,
        e.tool as tool,
        e.commit_id as commit_id,
        e.changed_at as touched_at,
        count(*) over (partition by e.kind, e.key) as touches,
        row_number() over (partition by e.kind, e.key order by e.turn desc, e.changed_ns desc, e.sequence desc) as age
    from entries as e
    where e.session_id = p_session
      and e.kind in ('file', 'source')
      and e.op <> 'evict'
      and e.turn > (select coalesce(max(t.turn), 0) from turn_numbers as t where t.session_id = p_session) - p_last_turns
) as w
where w.age = 1
