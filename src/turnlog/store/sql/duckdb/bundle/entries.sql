-- one row: one operation of a commit on one entry of session state
select
    x.session_id,
    d.commit_id,
    d.turn_id,
    d.ts_ns,
    d.sequence,
    d.op,
    d.kind,
    d.key,
    d.value,
    d.tier,
    d.action,
    d.evidence,
    d.renamed_from
from raw.deltas as d
join raw.sessions as x using (session_key)
where list_contains($sessions, x.session_id)
order by x.session_id, d.ts_ns, d.commit_id, d.sequence
