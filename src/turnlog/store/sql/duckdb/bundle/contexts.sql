-- one row: a message that the context of a model call (`commit_id`) has more (`add`) or less (`evict`) than the one before
select
    x.session_id,
    c.commit_id,
    c.ts_ns,
    c.op,
    c.position,
    c.message_hash,
    c.role,
    c.tool_call_id,
    c.origin_span_id,
    c.summary,
    c.entry_keys
from raw.context_changes as c
join raw.sessions as x using (session_key)
where list_contains($sessions, x.session_id)
order by x.session_id, c.ts_ns, c.commit_id, c.op desc, c.position
