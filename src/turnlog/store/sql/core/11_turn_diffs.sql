-- one row: an entry that a turn added, removed or changed, against the turn before
-- view: turn_diffs
select
    c.session_id as session_id,
    c.turn as turn,
    c.kind as kind,
    c.key as key,
    case when c.op <> 'set' then 'removed' when c.op_before <> 'set' then 'added' else 'changed' end as change,
    case when c.op_before = 'set' then c.value_before else '' end as before_value,
    case when c.op = 'set' then c.value else '' end as after_value,
    c.action as action,
    c.commit_id as commit_id,
    c.tool as tool
from (
    select
        l.session_id as session_id,
        l.turn as turn,
        l.kind as kind,
        l.key as key,
        l.op as op,
        l.value as value,
        l.action as action,
        l.commit_id as commit_id,
        l.tool as tool,
        lag(l.op, 1, '') over (partition by l.session_id, l.kind, l.key order by l.turn) as op_before,
        lag(l.value, 1, '') over (partition by l.session_id, l.kind, l.key order by l.turn) as value_before
    from (
        select
            e.session_id as session_id,
            e.turn as turn,
            e.kind as kind,
            e.key as key,
            e.op as op,
            e.value as value,
            e.action as action,
            e.commit_id as commit_id,
            e.tool as tool,
            row_number() over (partition by e.session_id, e.kind, e.key, e.turn order by e.changed_ns desc, e.sequence desc) as age
        from state_changes as e
    ) as l
    where l.age = 1
) as c
where (c.op = 'set' or c.op_before = 'set' or (c.kind = 'file' and c.op = 'drop'))
  and (c.op <> c.op_before or c.value <> c.value_before or c.kind = 'file')
