-- one row: a message in a model's context, and a tool call or model call whose output it carries
-- macro: carriers(p_session)
with
messages as (
    select
        m.session_id as session_id,
        m.lineage as lineage,
        m.position as position,
        m.role as role,
        m.decision_commit as said_by,
        m.tool_commit as result_of,
        m.added_commit as added_by,
        m.added_ns as added_ns,
        m.evicted_commit as evicted_by,
        m.evicted_ns as evicted_ns,
        first_value(m.message_hash) over (
            partition by m.session_id, m.tool_commit order by m.added_ns, m.lineage, m.position
        ) as first_hash,
        m.message_hash as message_hash,
        max(m.position) over (partition by m.session_id, m.added_commit) as last_position
    from context_messages as m
    where m.session_id = p_session
       or p_session = ''
),
held as (
    select
        a.session_id as session_id,
        a.commit_id as commit_id,
        a.kind as kind,
        a.lineage as lineage,
        a.ran_in as ran_in,
        a.asked_by as asked_by,
        row_number() over (partition by a.session_id, a.ran_in, a.lineage order by a.started_ns desc, a.commit_id) as from_end,
        row_number() over (partition by a.session_id, a.ran_in, a.lineage order by a.started_ns, a.commit_id) as from_start
    from askings(p_session) as a
),
touches as (
    select
        e.session_id as session_id,
        e.entry_key as path,
        e.commit_id as commit_id,
        e.action as action,
        e.ts_ns as ts_ns,
        max(case when e.action in ('read', 'list') then 0 else e.ts_ns end) over (
            partition by e.session_id, e.entry_key
            order by e.ts_ns, e.sequence
            rows between unbounded preceding and 1 preceding
        ) as written_ns
    from delta_rows as e
    where e.entry_kind = 'file'
      and e.op = 'set'
      and (e.session_id = p_session or p_session = '')
),
readings as (
    select distinct
        r.session_id as session_id,
        r.commit_id as read_by,
        w.commit_id as written_by
    from touches as r
    join touches as w
        on w.session_id = r.session_id
        and w.path = r.path
        and w.ts_ns = r.written_ns
    where r.action = 'read'
      and w.action not in ('read', 'list')
),
-- A tool's result holds what ran inside of the call and what the writers of the files that it read put there.
contents as (
    select
        h.session_id as session_id,
        h.ran_in as result_of,
        case when h.kind = 'tool' then 'tool' else 'call' end as origin_kind,
        h.commit_id as origin_id
    from held as h
    where h.kind = 'tool'
       or (h.kind = 'decision' and h.lineage <> '' and h.from_end = 1)
    union
    select
        h.session_id as session_id,
        h.ran_in as result_of,
        'call' as origin_kind,
        h.asked_by as origin_id
    from held as h
    where h.asked_by <> ''
    union
    select
        r.session_id as session_id,
        r.ran_in as result_of,
        'tool' as origin_kind,
        f.written_by as origin_id
    from readings as f
    join held as r on r.commit_id = f.read_by
    union
    select
        r.session_id as session_id,
        r.ran_in as result_of,
        'call' as origin_kind,
        w.asked_by as origin_id
    from readings as f
    join held as r on r.commit_id = f.read_by
    join held as w on w.commit_id = f.written_by
    where w.asked_by <> ''
),
calls as (
    select
        c.session_id as session_id,
        c.commit_id as commit_id,
        lag(c.commit_id, 1, '') over (partition by c.session_id, c.lineage order by c.start_ns, c.commit_id) as previous_id,
        case
            when c.turn_id = lag(c.turn_id, 1, '') over (partition by c.session_id, c.lineage order by c.start_ns, c.commit_id)
            then 0 else 1
        end as opens_turn
    from span_rows as c
    where c.commit_kind = 'decision'
      and c.lineage <> ''
      and (c.session_id = p_session or p_session = '')
)
select
    m.session_id as session_id,
    m.lineage as lineage,
    m.position as position,
    m.added_by as added_by,
    m.added_ns as added_ns,
    m.evicted_by as evicted_by,
    m.evicted_ns as evicted_ns,
    'call' as origin_kind,
    m.said_by as origin_id
from messages as m
where m.said_by <> ''
union all
-- What stands under a call's id later and is not the result any more is a stand-in for one that was cleared.
select
    m.session_id as session_id,
    m.lineage as lineage,
    m.position as position,
    m.added_by as added_by,
    m.added_ns as added_ns,
    m.evicted_by as evicted_by,
    m.evicted_ns as evicted_ns,
    x.origin_kind as origin_kind,
    x.origin_id as origin_id
from messages as m
join contents as x on x.result_of = m.result_of
where m.result_of <> ''
  and m.message_hash = m.first_hash
union all
-- What comes when messages go, and is not the turn's input, is a summary of what the call before had seen.
select
    m.session_id as session_id,
    m.lineage as lineage,
    m.position as position,
    m.added_by as added_by,
    m.added_ns as added_ns,
    m.evicted_by as evicted_by,
    m.evicted_ns as evicted_ns,
    'call' as origin_kind,
    c.previous_id as origin_id
from messages as m
join calls as c on c.commit_id = m.added_by
where m.role in ('user', 'system')
  and m.result_of = ''
  and c.previous_id <> ''
  and not (m.position = m.last_position and c.opens_turn = 1)
  and m.added_by in (select e.evicted_by from messages as e where e.role <> 'system')
union all
-- The first thing that an agent inside of a tool call is told comes from whoever asked for the tool.
select
    m.session_id as session_id,
    m.lineage as lineage,
    m.position as position,
    m.added_by as added_by,
    m.added_ns as added_ns,
    m.evicted_by as evicted_by,
    m.evicted_ns as evicted_ns,
    'call' as origin_kind,
    h.asked_by as origin_id
from messages as m
join held as h on h.commit_id = m.added_by
where m.role in ('user', 'system')
  and m.result_of = ''
  and h.lineage <> ''
  and h.from_start = 1
  and h.asked_by <> ''
