-- one row: captured content that the sessions refer to, once under its hash
select
    hash,
    text,
    first_ns
from raw.blobs
where hash in (
    select unnest([input_hash, output_hash, turn_input_hash, replay_record])
    from bundled_spans($sessions)
    union all
    select unnest(from_json(memory_items, '["VARCHAR"]'))
    from bundled_spans($sessions)
    where memory_items <> '[]'
    union all
    select c.message_hash
    from raw.context_changes as c
    join raw.sessions as x using (session_key)
    where list_contains($sessions, x.session_id)
    union all
    select d.value
    from raw.deltas as d
    join raw.sessions as x using (session_key)
    where list_contains($sessions, x.session_id)
)
order by hash
