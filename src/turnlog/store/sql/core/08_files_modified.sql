-- one row: a file that a session created, wrote, deleted or renamed in its last turns
-- macro: files_modified(p_session, p_last_turns)
select
    m.path as path,
    m.action as last_action,
    m.evidence as evidence,
    m.renamed_from as renamed_from,
    m.modified_in_turn as turn,
    m.modifications as modifications,
    m.tool as tool,
    m.commit_id as commit_id,
    m.modified_at as changed_at
from (
    select
        e.key as path,
        e.action as action,
        e.evidence as evidence,
        e.renamed_from as renamed_from,
        e.turn as modified_in_turn,
        e.tool as tool,
        e.commit_id as commit_id,
        e.changed_at as modified_at,
        count(*) over (partition by e.key) as modifications,
        row_number() over (partition by e.key order by e.turn desc, e.changed_ns desc, e.sequence desc) as age
    from entries as e
    where e.session_id = p_session
      and e.kind = 'file'
      and e.action in ('create', 'write', 'delete', 'rename')
      and e.turn > (select coalesce(max(t.turn), 0) from turn_numbers as t where t.session_id = p_session) - p_last_turns
) as m
where m.age = 1
