-- one row: one operation that changes state: not of a file that was only read or listed, nor a durable entry's leaving the context, nor what a fenced writer did
-- view: state_changes
select
    e.session_id as session_id,
    e.turn as turn,
    e.commit_id as commit_id,
    e.op as op,
    e.kind as kind,
    e.key as key,
    e.value as value,
    e.tier as tier,
    e.action as action,
    e.evidence as evidence,
    e.tool as tool,
    e.changed_ns as changed_ns,
    e.sequence as sequence
from entries as e
where (e.kind <> 'file' or e.action not in ('read', 'list'))
  and (e.op <> 'evict' or e.tier = 'transient')
  and e.commit_id not in (select f.commit_id from fenced_rows as f)
