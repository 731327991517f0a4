-- one row: captured content that a session refers to
select
    r.session_id,
    b.*
from raw.blobs as b
join (
    select
        s.session_id,
        unnest([s.input_hash, s.output_hash, s.turn_input_hash, s.replay_record]) as hash
    from span_rows as s
    union
    select
        m.session_id,
        m.item_hash as hash
    from memory_item_rows as m
    union
    select
        c.session_id,
        c.message_hash as hash
    from context_rows as c
) as r using (hash)
