-- What retention takes: old sessions, unless they are pinned, or something in them is in flight or not loaded yet.
create or replace temp table old_sessions as
select
    x.session_key,
    x.session_id,
    x.first_ns,
    x.last_ns,
    x.span_count,
    coalesce(v.status, 'idle') as status,
    coalesce(v.status, '') = 'archived' as to_archive,
    coalesce(v.pinned, false) as pinned,
    x.session_key in (select session_key from raw.open_spans) or list_contains($busy::varchar[], x.session_id) as in_use
from raw.sessions as x
left join sessions as v using (session_id)
-- Closing and archiving put a session away; they are no work in it.
where case
        when v.status in ('closed', 'archived') and v.last_active_ns <= v.last_said_ns then v.last_turn_ns
        else x.last_ns
    end < $cutoff::bigint;

create or replace temp table doomed as
select
    *,
    -- Of an archived session the durable entries are in its files, with all the rest.
    $keep_durable::boolean and not to_archive as keeps_durable
from old_sessions
where not pinned
  and not in_use
  and ($agreed::varchar[] is null or list_contains($agreed::varchar[], session_id));

-- What of them goes, counted.
create or replace temp table doomed_content as
select
    d.session_key,
    sum(p.bytes)::bigint as bytes
from doomed as d
join (
    select
        session_key,
        -- An empty one of these takes its braces.
        strlen(attributes) + strlen(events) - 4 + strlen(delta) - 2
        + strlen(input_summary) + strlen(output_summary) + strlen(status_message) + strlen(turn_input) + strlen(turn_output) as bytes,
        true as transient
    from raw.spans
    union all
    select
        session_key,
        strlen(links) + strlen(choice) + strlen(reason) + strlen(alternatives) + 600 as bytes,
        false as transient
    from raw.spans
    union all
    select
        session_key,
        strlen(key) + strlen(value) + 60 as bytes,
        tier = 'transient' as transient
    from raw.deltas
    union all
    select
        session_key,
        strlen(message_hash) + strlen(summary) + 60 as bytes,
        true as transient
    from raw.context_changes
) as p using (session_key)
where p.transient
   or not d.keeps_durable
group by d.session_key;

-- Nothing is left to take of a session that was stripped before.
delete from doomed
where keeps_durable
  and session_key not in (select session_key from doomed_content where bytes > 0);

create or replace temp table doomed_blobs as
select
    hash,
    strlen(text)::bigint as bytes
from raw.blobs
-- A process writes content once and refers to it for as long as it lives.
where first_ns < $referred_since::bigint
  and hash not in (
    select unnest([input_hash, output_hash, turn_input_hash, replay_record])
    from raw.spans
    where session_key not in (select session_key from doomed)
    union all
    select unnest([input_hash, output_hash, turn_input_hash, replay_record])
    from raw.open_spans
    union all
    select unnest(from_json(memory_items, '["VARCHAR"]'))
    from raw.spans
    where session_key not in (select session_key from doomed)
      and memory_items <> '[]'
    union all
    select message_hash
    from raw.context_changes
    where session_key not in (select session_key from doomed)
    union all
    select value
    from raw.deltas
    where session_key not in (select session_key from doomed)
  );
