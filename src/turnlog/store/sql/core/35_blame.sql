-- one row: a change of a file, under the names that it had, with the decision that asked for it
-- macro: blame(p_path)
with recursive names as (
    select
        cast(p_path as varchar) as path,
        cast(9223372036854775807 as bigint) as until_ns
    union
    select
        r.renamed_from as path,
        r.ts_ns as until_ns
    from names as n
    join delta_rows as r on r.entry_key = n.path
    where r.entry_kind = 'file'
      and r.renamed_from <> ''
      and r.ts_ns < n.until_ns
),
known as (
    select
        n.path as path,
        max(n.until_ns) as until_ns
    from names as n
    group by n.path
)
select
    e.entry_key as path,
    e.action as action,
    e.evidence as evidence,
    e.renamed_from as renamed_from,
    coalesce(m.entry_key, '') as renamed_to,
    e.entry_value as content_hash,
    e.changed_at as changed_at,
    e.session_id as session_id,
    t.turn as turn,
    e.commit_id as commit_id,
    e.tool as tool,
    coalesce(c.input_summary, '') as input_summary,
    coalesce(c.outcome, '') as outcome,
    coalesce(d.commit_id, '') as decision_commit_id,
    coalesce(d.choice, '') as choice,
    coalesce(d.reason, '') as reason,
    coalesce(d.request_model, '') as model,
    coalesce(p.folder, '') as folder,
    e.ts_ns as changed_ns,
    e.sequence as sequence
from known as a
join delta_rows as e on e.entry_key = a.path
join turn_numbers as t on t.session_id = e.session_id and t.turn_id = e.turn_id
left join span_rows as c on c.session_id = e.session_id and c.commit_id = e.commit_id
left join process_rows as p on p.process_key = c.process_key
left join span_rows as d on d.session_id = c.session_id and d.span_id = c.decision_id and d.commit_kind = 'decision'
left join delta_rows as m on m.session_id = e.session_id and m.commit_id = e.commit_id and m.renamed_from = e.entry_key and m.entry_kind = 'file'
left join known as k on k.path = m.entry_key
where e.entry_kind = 'file'
  and e.action in ('create', 'write', 'delete', 'rename')
  and e.ts_ns < a.until_ns
  -- A rename is told under the new name; under the old one only when the file was followed no further.
  and coalesce(k.until_ns, 0) <= e.ts_ns
