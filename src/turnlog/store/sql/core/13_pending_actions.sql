-- one row: open work: a pending entry, a call that runs, one that its process's death cut short and nobody repeated, one asked for and not begun
-- view: pending_actions
select
    p.session_id as session_id,
    p.turn as turn,
    'pending' as status,
    p.key as action_id,
    p.value as action,
    p.commit_id as commit_id,
    p.changed_ns as since_ns,
    cast(0 as double) as ran_ms
from state as p
where p.kind = 'pending'
union all
select
    c.session_id as session_id,
    c.turn as turn,
    'in_flight' as status,
    c.commit_id as action_id,
    case when c.tool <> '' then c.tool when c.model <> '' then c.model else c.kind end as action,
    c.commit_id as commit_id,
    c.started_ns as since_ns,
    cast(0 as double) as ran_ms
from commits as c
where c.outcome = 'in_flight'
  and c.fenced = ''
union all
select
    i.session_id as session_id,
    i.turn as turn,
    'interrupted' as status,
    i.commit_id as action_id,
    case when i.tool <> '' then i.tool when i.model <> '' then i.model else i.kind end as action,
    i.commit_id as commit_id,
    i.started_ns as since_ns,
    i.duration_ms as ran_ms
from (
    select
        a.session_id as session_id,
        a.turn as turn,
        a.kind as kind,
        a.tool as tool,
        a.model as model,
        a.commit_id as commit_id,
        a.outcome as outcome,
        a.started_ns as started_ns,
        a.ended_ns as ended_ns,
        a.duration_ms as duration_ms,
        -- A tool is repeated by a call with the same input, a model by any call: what it was asked is not known while it runs.
        max(a.started_ns) over (
            partition by a.session_id, a.kind, a.tool, case when a.kind = 'tool' then a.input_hash else a.model end
        ) as repeated_ns
    from commits as a
    where a.session_id in (select u.session_id from unfinished_rows as u where u.died_ns > 0)
      and a.fenced = ''
) as i
where i.outcome = 'interrupted'
  and i.repeated_ns <= i.ended_ns
union all
select
    q.session_id as session_id,
    q.turn as turn,
    'queued' as status,
    q.tool_call_id as action_id,
    q.asked_tool as action,
    q.commit_id as commit_id,
    q.asked_ns as since_ns,
    cast(0 as double) as ran_ms
from (
    select
        k.session_id as session_id,
        d.turn as turn,
        k.tool_call_id as tool_call_id,
        k.asked_tool as asked_tool,
        k.commit_id as commit_id,
        k.end_ns as asked_ns
    from asked_call_rows as k
    join commits as d on d.session_id = k.session_id and d.commit_id = k.commit_id
    join (
        select
            n.session_id as session_id,
            max(n.turn) as last_turn
        from turn_numbers as n
        group by n.session_id
    ) as m on m.session_id = k.session_id and m.last_turn = d.turn
    join (
        select
            b.session_id as session_id,
            b.lineage as lineage,
            max(b.started_ns) as last_call_ns
        from commits as b
        where b.kind = 'decision'
          and (b.lineage <> '' or b.model <> '')
        group by b.session_id, b.lineage
    ) as z on z.session_id = k.session_id and z.lineage = k.lineage and z.last_call_ns <= k.end_ns
    left join (
        select
            g.session_id as session_id,
            g.tool_call_id as tool_call_id,
            count(*) as times
        from (
            select
                e.session_id as session_id,
                e.tool_call_id as tool_call_id
            from commits as e
            where e.kind = 'tool'
            union all
            select
                x.session_id as session_id,
                x.tool_call_id as tool_call_id
            from context_rows as x
            where x.role = 'tool'
              and x.op = 'add'
        ) as g
        group by g.session_id, g.tool_call_id
    ) as h on h.session_id = k.session_id and h.tool_call_id = k.tool_call_id
    where coalesce(h.times, 0) = 0
      and d.fenced = ''
) as q
