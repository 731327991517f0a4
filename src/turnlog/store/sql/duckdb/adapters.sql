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
    agent,
    eviction_count,
    doubt_count,
    -- Nothing is told of a session without a turn or a word about its lifecycle.
    session_key in (select session_key from raw.turns)
        or session_key in (select session_key from raw.lifecycle where commit_id not in (select commit_id from raw.fenced)) as is_told
from raw.sessions;

-- one row: a turn
create or replace view turn_rows as
select
    s.session_id,
    t.session_key::bigint as session_key,
    t.turn_id,
    min(t.first_ns) as first_ns,
    max(t.last_ns) as last_ns
from raw.turns as t
join raw.sessions as s using (session_key)
group by s.session_id, t.session_key, t.turn_id;

-- one row: a span that still runs, as one that has ended would be
create or replace view running_spans as
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
from raw.open_spans;

-- one row: a span; one that still runs has outcome in_flight and ends where it began
create or replace view span_rows as
select
    s.session_id,
    a.* exclude (session_key, process_key),
    a.process_key::bigint as process_key,
    make_timestamp(a.start_ns // 1000) as started_at,
    make_timestamp(a.end_ns // 1000) as ended_at,
    (a.end_ns - a.start_ns) / 1e6 as duration_ms,
    -- Sorted and with 0.0 as 0: equal requests are equal text. How an answer travels and what it continues are no parameters.
    array_to_string(
        list_transform(
            list_sort(
                list_filter(
                    json_keys(a.attributes),
                    lambda k: starts_with(k, 'gen_ai.request.')
                        and k not in ('gen_ai.request.stream', 'gen_ai.request.previous_response.id')
                )
            ),
            lambda k: concat(
                substr(k, 16), '=', regexp_replace(a.attributes ->> concat('/', k), '^(-?[0-9]+)\.0+$', '\1')
            )
        ),
        ' '
    ) as request_parameters
from (
    from raw.spans
    union all by name
    from running_spans
) as a
join raw.sessions as s using (session_key);

-- one row: spans of an instrumentation scope, how many of them are commits, and when the last ended
create or replace view scope_rows as
select
    scope,
    span_count,
    commit_count,
    make_timestamp(last_ns // 1000) as last_at
from raw.scopes
union all
select
    scope,
    1,
    (commit_kind <> '')::bigint,
    make_timestamp(end_ns // 1000)
from running_spans
where scope <> '';

-- one row: an input that was unverified when it came in
create or replace view doubt_rows as
select
    s.session_id,
    d.commit_id,
    d.content_hash
from raw.doubts as d
join raw.sessions as s using (session_key);

-- one row: a commit or a content that somebody has checked
create or replace view check_rows as
select
    checked,
    max(said) as said
from raw.checks
group by checked;

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
    substr(c.message_hash, instr(c.message_hash, ':') + 1, 16) as message_key,
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

-- one row: a commit with which entries left a context, and why they did
create or replace view eviction_rows as
select
    s.session_id,
    a.commit_id,
    coalesce(a.attributes ->> '$."turnlog.context.eviction.reason"', '') as eviction_reason
from raw.spans as a
join raw.sessions as s using (session_key)
where a.commit_kind = 'eviction';

-- one row: a tool call that a model call asked for
create or replace view asked_call_rows as
select
    s.session_id,
    a.turn_id,
    a.commit_id,
    a.span_id,
    a.lineage,
    a.end_ns,
    split_part(a.asked, ' ', 1) as asked_tool,
    substr(a.asked, instr(a.asked, ' ') + 1) as tool_call_id,
    a.call_position
from (
    select
        session_key,
        turn_id,
        commit_id,
        span_id,
        lineage,
        end_ns,
        unnest(from_json(calls, '["VARCHAR"]')) as asked,
        generate_subscripts(from_json(calls, '["VARCHAR"]'), 1) as call_position
    from raw.spans
    where calls <> '[]'
) as a
join raw.sessions as s using (session_key);

-- one row: something that was done to the items that a framework keeps of a session
create or replace view memory_rows as
select
    s.session_id,
    a.commit_id,
    a.memory_operation as operation,
    a.end_ns as ts_ns,
    a.commit_sequence as sequence,
    json_array_length(a.memory_items)::bigint as item_count
from raw.spans as a
join raw.sessions as s using (session_key)
where a.memory_operation <> '';

-- one row: an item that was added to those that a framework keeps of a session
create or replace view memory_item_rows as
select
    s.session_id,
    a.commit_id,
    a.item_hash,
    a.item_position
from (
    select
        session_key,
        commit_id,
        unnest(from_json(memory_items, '["VARCHAR"]')) as item_hash,
        generate_subscripts(from_json(memory_items, '["VARCHAR"]'), 1) as item_position
    from raw.spans
    where memory_operation = 'add'
) as a
join raw.sessions as s using (session_key);

-- one row: a process, and the folder that the files of its entries are relative to
create or replace view process_rows as
select
    process_key::bigint as process_key,
    process_id,
    host,
    pid,
    coalesce(json_extract_string(resource, '$."process.working_directory"'), '') as folder
from raw.processes;

-- one row: something that could not be kept
create or replace view loss_rows as
select
    reason,
    lost as lost_count,
    make_timestamp(at_ns // 1000) as lost_at
from raw.losses;

-- one row: a claim of a session by one writer
create or replace view lease_rows as
select
    s.session_id,
    l.epoch,
    l.ts_ns,
    make_timestamp(l.ts_ns // 1000) as claimed_at,
    l.holder,
    p.host,
    p.pid,
    array_to_string(l.fences, ' ') as taken_from,
    l.commit_id
from raw.leases as l
join raw.sessions as s using (session_key)
join raw.processes as p using (process_key)
where l.epoch > 0;

-- one row: a span that does not count, because another writer had taken its session over
create or replace view fenced_rows as
select commit_id
from raw.fenced;

-- one row: captured content
create or replace view blob_rows as
select
    hash as content_hash,
    text as content
from raw.blobs;

-- Whether a text has a term, which is in lower case, and what stands around it. Quotes and blanks alone are no term: they
-- stand between any two places of a commit.
create or replace macro holds(content, term) as contains(lower(content), term) and (term = '' or trim(term, ' "') <> '');
create or replace macro excerpt_of(content, term) as substr(content, greatest(instr(lower(content), term) - 60, 1), 200);

-- A digest of a text, and one of many texts in whatever order they come.
create or replace macro digest(content) as sha256(content);
create or replace macro digest_of_all(content) as sha256(coalesce(string_agg(content, '' order by content), ''));

-- Which lifecycle state may follow which: `LEGAL` of transitions.py, in SQL. No `in`: of so many values it becomes a join.
create or replace macro may_enter(before, after) as
list_contains(
    [
        'open > active',
        'open > paused',
        'open > closed',
        'active > paused',
        'active > closed',
        'paused > active',
        'paused > resumed',
        'paused > closed',
        'resumed > paused',
        'resumed > closed',
        'closed > resumed',
        'closed > archived'
    ],
    concat(before, ' > ', after)
);

-- No keys, and whether a key is one of some; without any, all are. The range is for zone maps.
create or replace macro no_keys() as []::bigint[];
create or replace macro among(key, keys) as
len(keys) = 0
or (key >= list_min(keys) and key <= list_max(keys) and list_contains(keys, key));

-- one row: a lifecycle state that was said, or a pinning, with the state before and after it. Each is judged by those before it; that
-- a turn began since the one before (`worked`) lets follow what may follow an active session. The session goes along beside the lists:
-- a filter on what comes out of them would not get below them, and all sessions be judged for one.
create or replace view lifecycle_rows as
select
    j.session_id,
    j.session_key::bigint as session_key,
    j.said.turn_id as turn_id,
    j.said.commit_id as commit_id,
    j.said.ts_ns as ts_ns,
    make_timestamp(j.said.ts_ns // 1000) as changed_at,
    j.said.state as state,
    j.said.pause_reason as pause_reason,
    j.said.pinned as pinned,
    case when j.said.worked and not may_enter(j.state_before, j.said.state) then 'active' else j.state_before end as previous_state,
    j.effect,
    j.state_after,
    max(case when j.effect = 'applied' and j.said.state <> '' then j.said.ts_ns else 0 end) over earlier as since_ns,
    coalesce(last_value(nullif(j.said.pinned, '') ignore nulls) over earlier, '') as pinned_after
from (
    select
        *,
        case
            when said.state = '' then 'applied'
            when state_after = said.state and (state_before <> said.state or (said.worked and may_enter('active', said.state))) then 'applied'
            when said.state in ('open', state_before) then 'unchanged'
            else 'refused'
        end as effect
    from (
        select
            session_key,
            session_id,
            unnest(said) as said,
            unnest(states[:-2]) as state_before,
            unnest(states[2:]) as state_after
        from (
            select
                w.session_key,
                w.session_id,
                list(w order by w.ts_ns, w.commit_id) as said,
                -- Only the states: measured, a list of whole rows in here takes 15 ms to plan.
                list_reduce(
                    list({'state': w.state, 'worked': w.worked} order by w.ts_ns, w.commit_id),
                    lambda states, e: list_append(
                        states,
                        case
                            when may_enter(states[-1], e.state) or (e.worked and may_enter('active', e.state)) then e.state
                            else states[-1]
                        end
                    ),
                    ['open']
                ) as states
            from (
                select
                    s.session_id,
                    l.*,
                    coalesce(b.began_ns, 0) > lag(l.ts_ns, 1, 0) over (
                        partition by l.session_key, s.session_id
                        order by l.ts_ns, l.commit_id
                    ) as worked
                from raw.lifecycle as l
                join raw.sessions as s using (session_key)
                asof left join (
                    select
                        session_key,
                        min(first_ns) as began_ns
                    from raw.turns
                    where session_key in (select session_key from raw.lifecycle)
                    group by session_key, turn_id
                ) as b on b.session_key = l.session_key and b.began_ns <= l.ts_ns
                where l.commit_id not in (select commit_id from raw.fenced)
            ) as w
            group by w.session_key, w.session_id
        )
    )
) as j
window earlier as (partition by j.session_key, j.session_id order by j.said.ts_ns, j.said.commit_id rows unbounded preceding);

-- one row: a span that runs, or ran when its process died; not of a fenced writer
create or replace view unfinished_rows as
select
    s.session_id,
    u.session_key::bigint as session_key,
    u.commit_id,
    u.started_ns,
    u.died_ns,
    u.is_running_commit
from (
    select
        session_key,
        commit_id,
        start_ns as started_ns,
        0::bigint as died_ns,
        (commit_kind <> '')::bigint as is_running_commit
    from running_spans
    union all
    select
        session_key,
        commit_id,
        started_ns,
        died_ns,
        0::bigint as is_running_commit
    from raw.interrupted
) as u
join raw.sessions as s using (session_key)
where u.commit_id not in (select commit_id from raw.fenced);
