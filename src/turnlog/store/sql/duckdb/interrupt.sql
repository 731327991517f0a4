-- Spans that a dead process left open end as interrupted. `dead` has one row per process that is gone, with the time of its last write.
create or replace temp table cut_short as
select
    o.* replace (
        greatest(o.start_ns, d.died_ns) as end_ns,
        'interrupted' as outcome,
        case
            when o.operation = 'execute_tool' then 'tool'
            when o.operation in ('chat', 'generate_content', 'text_completion') then 'decision'
            else o.commit_kind
        end as commit_kind
    )
from raw.open_spans as o
join raw.processes as p using (process_key)
join dead as d using (process_id);

create or replace temp view ended as
from cut_short;

insert into raw.spans by name
select *
from cut_short
order by session_key, start_ns;

insert into raw.deltas
select
    session_key,
    turn_id,
    commit_id,
    end_ns,
    0,
    tool,
    'set',
    'tool',
    case when tool = '' then 'unknown' else tool end,
    'interrupted',
    'transient',
    '',
    '',
    ''
from cut_short
where commit_kind = 'tool'
order by session_key, end_ns;

update raw.sessions as x
set
    last_ns = greatest(x.last_ns, u.last_ns),
    span_count = x.span_count + u.spans,
    commit_count = x.commit_count + u.commits,
    failure_count = x.failure_count + u.failures
from (
    select
        session_key,
        max(end_ns) as last_ns,
        count(*) as spans,
        count(*) filter (where commit_kind <> '' and checkpoint_source not in ('input', 'step')) as commits,
        count(*) filter (where commit_kind <> '') as failures
    from cut_short
    group by session_key
) as u
where x.session_key = u.session_key;

insert into raw.interrupted
select
    session_key,
    commit_id,
    start_ns,
    end_ns
from cut_short
order by session_key, start_ns;

delete from raw.open_spans
where commit_id in (select commit_id from cut_short);

update raw.processes
set gone = true
where process_id in (select process_id from dead);
