-- one row: an item that a framework keeps of the session, as it is now
-- macro: session_items(p_session)
select
    i.position as position,
    i.digest as item_hash
from (
    select
        m.item_hash as digest,
        o.depth - o.item_count + m.item_position as position,
        o.era as era,
        o.last_era as last_era,
        o.least_later as least_later
    from (
        select
            d.commit_id as commit_id,
            d.item_count as item_count,
            d.era as era,
            d.depth as depth,
            max(d.era) over () as last_era,
            coalesce(
                min(d.depth) over (partition by d.era order by d.nth rows between 1 following and unbounded following),
                9223372036854775807
            ) as least_later
        from (
            select
                s.commit_id as commit_id,
                s.item_count as item_count,
                s.era as era,
                s.nth as nth,
                -- Who takes from nothing leaves nothing behind, no debt.
                s.balance - least(0, min(s.balance) over (partition by s.era order by s.nth)) as depth
            from (
                select
                    e.commit_id as commit_id,
                    e.item_count as item_count,
                    e.era as era,
                    e.nth as nth,
                    sum(case when e.operation = 'pop' then -1 else e.item_count end) over (partition by e.era order by e.nth) as balance
                from (
                    select
                        n.commit_id as commit_id,
                        n.item_count as item_count,
                        n.operation as operation,
                        n.nth as nth,
                        sum(case when n.operation = 'clear' then 1 else 0 end) over (order by n.nth) as era
                    from (
                        select
                            r.commit_id as commit_id,
                            r.operation as operation,
                            r.item_count as item_count,
                            row_number() over (order by r.ts_ns, r.sequence, r.commit_id) as nth
                        from memory_rows as r
                        where r.session_id = p_session
                          and r.commit_id not in (select f.commit_id from fenced_rows as f)
                    ) as n
                ) as e
            ) as s
        ) as d
    ) as o
    join memory_item_rows as m on m.commit_id = o.commit_id
    where m.session_id = p_session
) as i
where i.era = i.last_era
  and i.position <= i.least_later
