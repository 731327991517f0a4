-- one row: captured content that the chosen spans refer to
with chosen as (
    from chosen_spans($sessions, $since, $until)
)
from raw.blobs
where hash in (
    select unnest([input_hash, output_hash, turn_input_hash, replay_record])
    from chosen
    union all
    select unnest(from_json(memory_items, '["VARCHAR"]'))
    from chosen
    union all
    select message_hash
    from raw.context_changes
    where commit_id in (select commit_id from chosen)
)
