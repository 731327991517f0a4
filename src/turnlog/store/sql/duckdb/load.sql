-- One chunk of journal rows, staged in `staged`, becomes rows of the tables. Runs in the loader's transaction. `known_sessions` and
-- `known_processes` are what already has a key: the same tables when the store is written, the store's when a reader overlays a tail.
insert into raw.processes
select
    (select coalesce(max(process_key), 0) from known_processes) + row_number() over (order by min(start_ns), process_id),
    process_id,
    max(host),
    max(pid),
    min(start_ns),
    false,
    coalesce(max(attributes) filter (where record = 'process'), '{}')
from staged
where process_id not in (select process_id from known_processes)
group by process_id;

insert into raw.sessions
select
    (select coalesce(max(session_key), 0) from known_sessions) + row_number() over (order by min(start_ns), session_id),
    session_id,
    min(start_ns),
    0,
    0,
    0,
    0,
    0,
    0,
    '',
    0,
    0
from staged
where record in ('start', 'end', 'turn')
  and session_id not in (select session_id from known_sessions)
group by session_id;

insert into raw.losses
select
    p.process_key,
    s.start_ns,
    case when s.record = 'loss' then s.name else 'value too large' end,
    s.lost
from staged as s
join raw.processes as p using (process_id)
where s.lost > 0;

insert into raw.blobs
select
    hash,
    max(text),
    min(start_ns)
from staged
where record = 'blob'
  and hash not in (select b.hash from raw.blobs as b)
group by hash;

-- The join is with the few keys that this chunk needs, and a view: a copy of the wide rows costs as much as inserting them.
create or replace temp table met_sessions as
select
    session_id,
    session_key
from raw.sessions
where session_id in (select session_id from staged);

create or replace temp table met_processes as
select
    process_id,
    process_key
from raw.processes
where process_id in (select process_id from staged);

create or replace temp view arrived as
select
    x.session_key,
    p.process_key,
    s.*
from staged as s
join met_sessions as x using (session_id)
join met_processes as p using (process_id)
where s.record in ('start', 'end', 'turn');

create or replace temp view ended as
from arrived
where record = 'end';

insert into raw.spans by name
select * exclude (record, process_id, session_id, host, pid, hash, text, lost, carried, died_ns, entries, context_changes)
from arrived
where record = 'end'
order by session_key, start_ns;

delete from raw.open_spans
where commit_id in (select commit_id from arrived where record = 'end');

insert into raw.open_spans by name
select * exclude (record, process_id, session_id, host, pid, hash, text, lost, carried, died_ns, entries, context_changes)
from arrived
where record = 'start'
  and commit_id not in (select commit_id from arrived where record = 'end');

insert into raw.turns
select
    session_key,
    turn_id,
    min(start_ns),
    -- When a process died is no work in the turn.
    max(case when died_ns > 0 then start_ns else greatest(start_ns, end_ns) end)
from arrived
where turn_id <> ''
  -- A word about the lifecycle is said in or after a turn and is no work of it; so is an edit of a framework's state, and what an
  -- agent reports of itself.
  and commit_kind <> 'state'
  and self_reported = ''
  and lifecycle_state = ''
  and pinned = ''
  and lease_epoch = 0
  and lease_fences = '[]'
group by session_key, turn_id
order by session_key, min(start_ns);

insert into raw.deltas
with parsed_deltas as (
    select
        *,
        -- a cast would refuse an operation without action or evidence; from_json gives null there
        from_json(delta, '[{"op":"VARCHAR","kind":"VARCHAR","key":"VARCHAR","value":"VARCHAR","tier":"VARCHAR","action":"VARCHAR","evidence":"VARCHAR","renamed_from":"VARCHAR"}]') as parsed
    from arrived
    where record = 'end'
      and delta <> '[]'
      and not carried
),
ops as (
    select
        session_key,
        turn_id,
        commit_id,
        end_ns,
        commit_sequence,
        tool,
        unnest(parsed) as change,
        generate_subscripts(parsed, 1) as position
    from parsed_deltas
)
select
    session_key,
    turn_id,
    commit_id,
    end_ns,
    commit_sequence * 65536 + position,
    tool,
    coalesce(change.op, ''),
    coalesce(change.kind, ''),
    coalesce(change.key, ''),
    coalesce(change.value, ''),
    coalesce(change.tier, ''),
    coalesce(change.action, ''),
    coalesce(change.evidence, ''),
    coalesce(change.renamed_from, '')
from ops
order by session_key, end_ns, commit_sequence, position;

insert into raw.context_changes
with parsed_changes as (
    select
        *,
        from_json(context_changes, '[{"op":"VARCHAR","at":"BIGINT","hash":"VARCHAR","role":"VARCHAR","call":"VARCHAR","from":"VARCHAR","text":"VARCHAR","keys":["VARCHAR"]}]') as parsed
    from arrived
    where context_changes <> '[]'
      and json_valid(context_changes)
),
messages as (
    select
        session_key,
        process_key,
        turn_id,
        commit_id,
        lineage,
        start_ns,
        unnest(parsed) as change
    from parsed_changes
)
select
    session_key,
    process_key,
    turn_id,
    commit_id,
    lineage,
    start_ns,
    coalesce(change.op, ''),
    coalesce(change.at, 0),
    coalesce(change.hash, ''),
    coalesce(change.role, ''),
    coalesce(change.call, ''),
    coalesce(change."from", ''),
    coalesce(change.text, ''),
    coalesce(change.keys, [])
from messages
order by session_key, start_ns, change.at;

update raw.sessions as x
set
    first_ns = least(x.first_ns, u.first_ns),
    last_ns = greatest(x.last_ns, u.last_ns),
    span_count = x.span_count + u.spans,
    commit_count = x.commit_count + u.commits,
    failure_count = x.failure_count + u.failures,
    input_tokens = x.input_tokens + u.tokens_in,
    output_tokens = x.output_tokens + u.tokens_out,
    agent = case when x.agent = '' then u.agent else x.agent end
from (
    select
        session_key,
        min(start_ns) as first_ns,
        max(greatest(start_ns, end_ns)) as last_ns,
        count(*) filter (where record = 'end') as spans,
        -- A checkpoint or an item that a run saves by itself repeats what its commits did.
        count(*) filter (
            where record = 'end' and commit_kind <> '' and checkpoint_source not in ('input', 'step') and memory_operation = ''
        ) as commits,
        count(*) filter (where record = 'end' and commit_kind <> '' and outcome not in ('ok', '')) as failures,
        coalesce(sum(input_tokens) filter (where record = 'end' and commit_kind <> ''), 0) as tokens_in,
        coalesce(sum(output_tokens) filter (where record = 'end' and commit_kind <> ''), 0) as tokens_out,
        coalesce(arg_min(agent, start_ns) filter (where agent <> ''), '') as agent
    from arrived
    group by session_key
) as u
where x.session_key = u.session_key;
