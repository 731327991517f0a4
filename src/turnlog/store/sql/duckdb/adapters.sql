-- The relations that the core's questions are written over. Another engine brings its own version of this file and nothing else.
-- No nulls, 64-bit integers, times as nanoseconds (`_ns`) and as UTC timestamps.

-- one row: a session
create or replace view session_rows as
select
    session_key::bigint as session_key,
    session_id,
    first_ns,
    last_ns,
    make_timestamp(first_ns // 1000) as first_at,
    make_timestamp(last_ns // 1000) as last_at,
    span_count,
    commit_count,
    failure_count,
    input_tokens,
    output_tokens,
    agent
from raw.sessions;

-- one row: a turn
create or replace view turn_rows as
select
    s.session_id,
    t.turn_id,
    min(t.first_ns) as first_ns,
    max(t.last_ns) as last_ns
from raw.turns as t
join raw.sessions as s using (session_key)
group by s.session_id, t.turn_id;

-- one row: a span; one that still runs has outcome in_flight and ends where it began
create or replace view span_rows as
select
    s.session_id,
    a.* exclude (session_key, process_key),
    a.process_key::bigint as process_key,
    make_timestamp(a.start_ns // 1000) as started_at,
    make_timestamp(a.end_ns // 1000) as ended_at,
    (a.end_ns - a.start_ns) / 1e6 as duration_ms
from (
    from raw.spans
    union all by name
    select
        * replace (
            start_ns as end_ns,
            'in_flight' as outcome,
            case
                when operation = 'execute_tool' then 'tool'
                when operation in ('chat', 'generate_content', 'text_completion') then 'decision'
                else commit_kind
            end as commit_kind
        )
    from raw.open_spans
) as a
join raw.sessions as s using (session_key);

-- one row: one operation on one entry
create or replace view delta_rows as
select
    s.session_id,
    d.turn_id,
    d.commit_id,
    d.ts_ns,
    make_timestamp(d.ts_ns // 1000) as changed_at,
    d.sequence,
    d.tool,
    d.op,
    d.kind as entry_kind,
    d.key as entry_key,
    d.value as entry_value,
    d.tier,
    d.action,
    d.evidence,
    d.renamed_from
from raw.deltas as d
join raw.sessions as s using (session_key);

-- one row: a message that a model call's context has more (`add`) or less (`evict`) than the one before in its lineage
create or replace view context_rows as
select
    s.session_id,
    c.process_key::bigint as process_key,
    c.turn_id,
    c.commit_id,
    c.lineage,
    c.ts_ns,
    make_timestamp(c.ts_ns // 1000) as changed_at,
    c.op,
    c.position,
    c.message_hash,
    c.role,
    c.tool_call_id,
    c.origin_span_id,
    c.summary
from raw.context_changes as c
join raw.sessions as s using (session_key);

-- one row: an entry that a message in a context introduces
create or replace view context_key_rows as
select
    s.session_id,
    k.process_key::bigint as process_key,
    k.turn_id,
    k.commit_id,
    k.lineage,
    k.ts_ns,
    k.position,
    k.message_hash,
    split_part(k.entry, ':', 1) as entry_kind,
    substr(k.entry, instr(k.entry, ':') + 1) as entry_key
from (
    select
        * exclude (entry_keys),
        unnest(entry_keys) as entry
    from raw.context_changes
    where op = 'add'
) as k
join raw.sessions as s using (session_key);

-- one row: a tool call that a model call asked for
create or replace view asked_call_rows as
select
    s.session_id,
    a.turn_id,
    a.commit_id,
    a.span_id,
    a.lineage,
    a.end_ns,
    a.tool_call_id
from (
    select
        session_key,
        turn_id,
        commit_id,
        span_id,
        lineage,
        end_ns,
        unnest(from_json(calls, '["VARCHAR"]')) as tool_call_id
    from raw.spans
    where calls <> '[]'
) as a
join raw.sessions as s using (session_key);

-- one row: something that could not be kept
create or replace view loss_rows as
select
    reason,
    lost as lost_count,
    make_timestamp(at_ns // 1000) as lost_at
from raw.losses;
