-- one row: a span of a bundle, with its entries and how its context changed, as its journal row has them
select
    s.*,
    to_json(e.entries)::varchar as entries,
    to_json(m.context_changes)::varchar as context_changes
from bundle_spans as s
left join (
    select
        session_id,
        commit_id,
        list(
            {
                'sequence': sequence,
                'op': op,
                'kind': kind,
                'key': key,
                'value': value,
                'tier': tier,
                'action': action,
                'evidence': evidence,
                'renamed_from': renamed_from
            }
            order by sequence
        ) as entries
    from bundle_entries
    group by session_id, commit_id
) as e using (session_id, commit_id)
left join (
    select
        session_id,
        commit_id,
        list(
            {
                'op': op,
                'at': position,
                'hash': message_hash,
                'role': role,
                'call': tool_call_id,
                'from': origin_span_id,
                'text': summary,
                'keys': entry_keys
            }
            order by op desc, position
        ) as context_changes
    from bundle_contexts
    group by session_id, commit_id
) as m using (session_id, commit_id)
