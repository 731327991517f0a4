-- one row: one operation on one entry of session state
-- view: entries
select
    d.session_id as session_id,
    t.turn as turn,
    d.changed_at as changed_at,
    d.commit_id as commit_id,
    d.op as op,
    d.entry_kind as kind,
    d.entry_key as key,
    d.entry_value as value,
    d.tier as tier,
    d.action as action,
    d.evidence as evidence,
    d.renamed_from as renamed_from,
    d.tool as tool,
    d.ts_ns as changed_ns,
    d.sequence as sequence
from delta_rows as d
join turn_numbers as t on t.session_id = d.session_id and t.turn_id = d.turn_id
