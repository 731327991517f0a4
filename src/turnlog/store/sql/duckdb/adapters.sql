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
    d.evidence
from raw.deltas as d
join raw.sessions as s using (session_key);

-- one row: something that could not be kept
create or replace view loss_rows as
select
    reason,
    lost as lost_count,
    make_timestamp(at_ns // 1000) as lost_at
from raw.losses;
