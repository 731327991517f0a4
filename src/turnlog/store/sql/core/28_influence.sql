-- one row: a stretch of a lineage's model calls that a tool call's or model call's output reached, seen or passed on
-- macro: influence(p_session, p_commit)
with recursive
carried as (
    select
        k.session_id as session_id,
        k.lineage as lineage,
        k.added_by as added_by,
        k.added_ns as added_ns,
        k.evicted_by as evicted_by,
        k.evicted_ns as evicted_ns,
        k.origin_kind as origin_kind,
        k.origin_id as origin_id
    from carriers(p_session) as k
),
calls as (
    select
        s.session_id as session_id,
        s.lineage as lineage,
        s.commit_id as commit_id,
        s.start_ns as at_ns,
        lag(s.commit_id, 1, '') over (partition by s.session_id, s.lineage order by s.start_ns, s.commit_id) as previous_id
    from span_rows as s
    where s.commit_kind = 'decision'
      and s.lineage <> ''
      and (s.session_id = p_session or p_session = '')
),
-- A call that got something from the call before it knows all that one knew: such calls form a run, and a source that
-- reaches one call of a run reaches the rest of it. What is left to follow is from run to run, not from call to call.
followers as (
    select distinct
        c.commit_id as commit_id
    from calls as c
    join carried as k
        on k.added_by = c.commit_id
        and k.origin_id = c.previous_id
),
numbered as (
    select
        c.session_id as session_id,
        c.lineage as lineage,
        c.commit_id as commit_id,
        c.at_ns as at_ns,
        case when c.commit_id in (select f.commit_id from followers as f) then 0 else 1 end as is_head,
        sum(case when c.commit_id in (select f.commit_id from followers as f) then 0 else 1 end) over (
            partition by c.session_id, c.lineage order by c.at_ns, c.commit_id
            rows between unbounded preceding and current row
        ) as run
    from calls as c
),
runs as (
    select
        n.session_id as session_id,
        n.lineage as lineage,
        n.run as run,
        min(n.at_ns) as first_ns,
        max(n.at_ns) as last_ns
    from numbered as n
    group by n.session_id, n.lineage, n.run
),
-- From call to call: by a message that arrived, or that the head of a run still had.
passes as (
    select
        n.session_id as session_id,
        k.origin_id as giver_id,
        n.lineage as lineage,
        n.run as run,
        n.at_ns as at_ns
    from carried as k
    join numbered as n on n.commit_id = k.added_by
    where k.origin_kind = 'call'
    union
    select
        n.session_id as session_id,
        k.origin_id as giver_id,
        n.lineage as lineage,
        n.run as run,
        n.at_ns as at_ns
    from numbered as n
    join carried as k
        on k.session_id = n.session_id
        and k.lineage = n.lineage
        and k.added_ns < n.at_ns
        and k.evicted_ns > n.at_ns
    where n.is_head = 1
      and k.origin_kind = 'call'
),
-- Of several calls of one run that pass something on to the same call, the last knows what the others know.
edges as (
    select
        p.session_id as session_id,
        p.giver_lineage as giver_lineage,
        p.giver_run as giver_run,
        p.giver_id as giver_id,
        p.giver_ns as giver_ns,
        p.lineage as lineage,
        p.run as run,
        p.at_ns as at_ns
    from (
        select
            q.session_id as session_id,
            g.lineage as giver_lineage,
            g.run as giver_run,
            g.commit_id as giver_id,
            g.at_ns as giver_ns,
            q.lineage as lineage,
            q.run as run,
            q.at_ns as at_ns,
            row_number() over (
                partition by q.session_id, g.lineage, g.run, q.lineage, q.run, q.at_ns order by g.at_ns desc
            ) as age
        from passes as q
        join numbered as g on g.commit_id = q.giver_id
        where g.at_ns < q.at_ns
          and not (g.lineage = q.lineage and g.run = q.run)
    ) as p
    where p.age = 1
),
chosen as (
    select
        s.session_id as session_id,
        s.commit_id as source_id
    from sources as s
    where (s.session_id = p_session or p_session = '')
      and (s.commit_id = p_commit or (p_commit = '' and s.verified = 'false'))
),
-- The ends of what could be long chains of replies: who passed it on last is kept, not every way there, for those multiply.
reached as (
    select
        o.session_id as session_id,
        o.source_id as source_id,
        r.lineage as lineage,
        r.run as run,
        greatest(k.added_ns, r.first_ns) as from_ns,
        k.evicted_ns as seen_until_ns,
        k.evicted_by as unseen_by,
        '' as passed_by
    from chosen as o
    join carried as k on k.origin_id = o.source_id and k.origin_kind = 'tool'
    join runs as r
        on r.session_id = k.session_id
        and r.lineage = k.lineage
        and r.last_ns >= k.added_ns
        and r.first_ns < k.evicted_ns
    union
    select
        o.session_id as session_id,
        o.source_id as source_id,
        n.lineage as lineage,
        n.run as run,
        n.at_ns as from_ns,
        0 as seen_until_ns,
        '' as unseen_by,
        '' as passed_by
    from chosen as o
    join numbered as n on n.commit_id = o.source_id
    union
    select
        w.session_id as session_id,
        w.source_id as source_id,
        e.lineage as lineage,
        e.run as run,
        e.at_ns as from_ns,
        0 as seen_until_ns,
        '' as unseen_by,
        e.giver_id as passed_by
    from reached as w
    join edges as e
        on e.session_id = w.session_id
        and e.giver_lineage = w.lineage
        and e.giver_run = w.run
        and e.giver_ns >= w.from_ns
),
ranked as (
    select
        w.session_id as session_id,
        w.source_id as source_id,
        w.lineage as lineage,
        w.run as run,
        w.from_ns as from_ns,
        w.seen_until_ns as seen_until_ns,
        w.unseen_by as unseen_by,
        w.passed_by as passed_by,
        row_number() over (
            partition by w.session_id, w.source_id, w.lineage, w.run order by w.seen_until_ns desc, w.from_ns, w.passed_by
        ) as by_sight,
        row_number() over (
            partition by w.session_id, w.source_id, w.lineage, w.run order by w.from_ns, w.seen_until_ns desc, w.passed_by
        ) as by_time
    from reached as w
)
select
    f.session_id as session_id,
    f.source_id as source_id,
    f.lineage as lineage,
    min(f.from_ns) as from_ns,
    max(r.last_ns) as to_ns,
    min(case when f.seen_until_ns > 0 then f.from_ns else 9223372036854775807 end) as seen_from_ns,
    max(f.seen_until_ns) as seen_until_ns,
    max(case when f.by_sight = 1 then coalesce(c.previous_id, '') else '' end) as last_seen_by,
    max(case when f.by_time = 1 then f.passed_by else '' end) as passed_by
from ranked as f
join runs as r
    on r.session_id = f.session_id
    and r.lineage = f.lineage
    and r.run = f.run
left join calls as c on c.commit_id = f.unseen_by
group by f.session_id, f.source_id, f.lineage, f.run
