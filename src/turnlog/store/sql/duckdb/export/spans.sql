-- one row: a chosen span that has ended, with its process and how its context changed; the first to end comes first
with ended as (
    from chosen_spans($sessions, $since, $until)
    where has_ended
)
select
    e.* exclude (session_key, process_key, commit_id, has_ended),
    coalesce(m.context_changes, []) as context_changes,
    p.host,
    p.pid,
    p.resource
from ended as e
join raw.processes as p using (process_key)
left join (
    select
        session_key,
        commit_id,
        list(
            {
                'op': op,
                'at': position,
                'hash': message_hash,
                'role': role,
                'call': tool_call_id,
                'text': summary,
                'from': origin_span_id,
                'keys': entry_keys
            }
            order by op desc, position
        ) as context_changes
    from raw.context_changes
    where commit_id in (select commit_id from ended)
      and session_key in (select session_key from ended)
    group by session_key, commit_id
) as m using (session_key, commit_id)
order by e.end_ns, e.start_ns, e.span_id
