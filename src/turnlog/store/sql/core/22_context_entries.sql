-- one row: an entry that a message in a model's context holds, for as long as the message is there
-- view: context_entries
select
    m.session_id as session_id,
    m.lineage as lineage,
    m.position as position,
    k.kind as kind,
    case when k.kind = 'message' then m.message_key when k.kind = 'result' then m.tool_call_id else k.key end as key,
    m.message_hash as message_hash,
    m.role as role,
    m.tool as tool,
    case
        -- A decision is all that its answer said, not only the message that holds it.
        when m.summary = '' or (k.kind = 'decision' and m.source_summary <> '') then m.source_summary
        else m.summary
    end as summary,
    case when m.tool_commit <> '' then m.tool_commit else m.decision_commit end as source_commit,
    m.introduced_in as introduced_in,
    m.added_turn as added_turn,
    m.added_ns as added_ns,
    m.evicted_turn as evicted_turn,
    m.evicted_ns as evicted_ns
from context_messages as m
join (
    select
        c.session_id as session_id,
        c.lineage as lineage,
        c.position as position,
        case when c.tool_call_id <> '' then 'result' else 'message' end as kind,
        '' as key
    from context_rows as c
    where c.op = 'add'
    union all
    select
        e.session_id as session_id,
        e.lineage as lineage,
        e.position as position,
        e.entry_kind as kind,
        e.entry_key as key
    from context_key_rows as e
    where e.entry_kind not in ('message', 'result')
) as k
    on k.session_id = m.session_id
    and k.lineage = m.lineage
    and k.position = m.position
