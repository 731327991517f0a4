-- one row: an entry that left a model's context, what it was, and why it left
-- view: evictions
select
    v.session_id as session_id,
    v.turn as turn,
    v.commit_id as commit_id,
    v.evicted_at as evicted_at,
    v.kind as kind,
    v.key as key,
    case
        when v.kind in ('message', 'result', 'decision') and v.summary <> '' then v.summary
        when s.action <> '' and s.tool <> '' then s.action || ' by ' || s.tool
        when s.action <> '' then s.action
        else coalesce(s.value, '')
    end as summary,
    v.role as role,
    case when v.tool <> '' then v.tool else coalesce(s.tool, '') end as tool,
    case when v.introduced_in > 0 then v.source_commit else coalesce(s.commit_id, '') end as source_commit,
    case when v.introduced_in > 0 then v.introduced_in else coalesce(s.turn, 0) end as introduced_in,
    v.reason as reason,
    v.tier as tier,
    v.lineage as lineage,
    v.left_ns as left_ns,
    v.sequence as sequence
from (
    select
        e.session_id as session_id,
        e.turn as turn,
        e.commit_id as commit_id,
        e.changed_at as evicted_at,
        e.kind as kind,
        e.key as key,
        coalesce(x.said, '') as summary,
        coalesce(x.speaker, '') as role,
        coalesce(x.made_by, '') as tool,
        coalesce(x.made_with, '') as source_commit,
        coalesce(x.known_since, 0) as introduced_in,
        coalesce(r.eviction_reason, '') as reason,
        e.tier as tier,
        coalesce(x.left_lineage, '') as lineage,
        e.changed_ns as left_ns,
        e.sequence as sequence
    from entries as e
    left join eviction_rows as r on r.session_id = e.session_id and r.commit_id = e.commit_id
    left join (
        -- One row each: several messages can hold an entry, as a call and its result do. A file comes from the tool then.
        select
            k.session_id as session_id,
            k.kind as kind,
            k.key as key,
            k.evicted_ns as evicted_ns,
            max(k.summary) as said,
            max(k.role) as speaker,
            max(k.tool) as made_by,
            max(case when k.tool <> '' or k.kind in ('decision', 'message') then k.source_commit else '' end) as made_with,
            max(k.introduced_in) as known_since,
            max(k.lineage) as left_lineage
        from context_entries as k
        group by k.session_id, k.kind, k.key, k.evicted_ns
    ) as x
        on x.session_id = e.session_id
        and x.kind = e.kind
        and x.key = e.key
        and x.evicted_ns = e.changed_ns
    where e.op = 'evict'
    union all
    select
        n.session_id as session_id,
        n.resumed_turn as turn,
        n.resuming_commit as commit_id,
        n.resumed_at as evicted_at,
        n.kind as kind,
        n.key as key,
        max(n.said) as summary,
        max(n.speaker) as role,
        max(n.made_by) as tool,
        max(case when n.made_by <> '' or n.kind in ('decision', 'message') then n.made_with else '' end) as source_commit,
        max(n.known_since) as introduced_in,
        'resumed' as reason,
        case when n.kind in ('message', 'result', 'source', 'tool') then 'transient' else 'durable' end as tier,
        n.lineage as lineage,
        n.resumed_ns as left_ns,
        max(n.place) as sequence
    from (
        select
            c.session_id as session_id,
            c.lineage as lineage,
            c.resumed_turn as resumed_turn,
            c.resuming_commit as resuming_commit,
            c.resumed_at as resumed_at,
            c.resumed_ns as resumed_ns,
            c.kind as kind,
            c.key as key,
            c.said as said,
            c.speaker as speaker,
            c.made_by as made_by,
            c.made_with as made_with,
            c.known_since as known_since,
            c.place as place,
            c.is_new as is_new,
            max(c.is_new) over (partition by c.session_id, c.lineage, c.message_hash) as is_message_kept
        from (
            select
                u.session_id as session_id,
                u.lineage as lineage,
                u.turn as resumed_turn,
                u.commit_id as resuming_commit,
                u.resumed_at as resumed_at,
                u.resumed_ns as resumed_ns,
                u.is_new as is_new,
                x.kind as kind,
                x.key as key,
                x.message_hash as message_hash,
                x.summary as said,
                x.role as speaker,
                x.tool as made_by,
                x.source_commit as made_with,
                x.introduced_in as known_since,
                x.position as place
            from (
                select
                    r.session_id as session_id,
                    r.lineage as lineage,
                    r.turn as turn,
                    r.commit_id as commit_id,
                    r.resumed_at as resumed_at,
                    r.resumed_ns as resumed_ns,
                    w.is_new as is_new,
                    case when w.is_new = 1 then r.lineage else r.resumed_lineage end as side
                from resumptions as r
                cross join (select 0 as is_new union all select 1 as is_new) as w
            ) as u
            join context_entries as x on x.session_id = u.session_id and x.lineage = u.side
            where x.role <> 'system'
              and x.added_ns <= u.resumed_ns
              and x.evicted_ns > u.resumed_ns
        ) as c
    ) as n
    group by n.session_id, n.resumed_turn, n.resuming_commit, n.resumed_at, n.kind, n.key, n.lineage, n.resumed_ns
    -- A stub in the place of a cleared result answers the same call, and is not the result.
    having min(n.is_new) = 0
       and max(case when n.is_new = 0 then n.is_message_kept else 0 end) = 0
       and max(case when n.kind in ('message', 'result') then 0 else n.is_new end) = 0
) as v
left join (
    select
        e.session_id as session_id,
        e.kind as kind,
        e.key as key,
        e.value as value,
        e.action as action,
        e.tool as tool,
        e.turn as turn,
        e.commit_id as commit_id,
        row_number() over (
            partition by e.session_id, e.kind, e.key
            order by e.turn desc, e.changed_ns desc, e.sequence desc
        ) as age
    from entries as e
    where e.op <> 'evict'
) as s
    on s.session_id = v.session_id
    and s.kind = v.kind
    and s.key = v.key
    and s.age = 1
