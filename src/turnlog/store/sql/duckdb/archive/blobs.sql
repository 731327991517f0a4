-- one row: captured content that the session refers to
from raw.blobs
where hash in (
    select unnest([s.input_hash, s.output_hash, s.turn_input_hash])
    from span_rows as s
    where s.session_id = $session
    union all
    select c.message_hash
    from context_rows as c
    where c.session_id = $session
)
