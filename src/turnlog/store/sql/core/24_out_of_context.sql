-- one row: an entry that the model could see once and, after a turn, no longer can
-- macro: out_of_context(p_session, p_turn)
select
    o.kind as kind,
    o.key as key,
    o.summary as summary,
    o.role as role,
    o.tool as tool,
    o.source_commit as source_commit,
    o.introduced_in as introduced_in,
    o.turn as turn,
    o.reason as reason,
    o.tier as tier,
    o.commit_id as commit_id,
    o.evicted_at as evicted_at,
    o.left_ns as left_ns,
    o.sequence as sequence
from (
    select
        e.kind as kind,
        e.key as key,
        e.summary as summary,
        e.role as role,
        e.tool as tool,
        e.source_commit as source_commit,
        e.introduced_in as introduced_in,
        e.turn as turn,
        e.reason as reason,
        e.tier as tier,
        e.commit_id as commit_id,
        e.evicted_at as evicted_at,
        e.left_ns as left_ns,
        e.sequence as sequence,
        row_number() over (partition by e.kind, e.key order by e.left_ns desc, e.commit_id) as age
    from evictions as e
    left join lineages(p_session) as n on n.lineage = e.lineage
    where e.session_id = p_session
      and e.turn <= p_turn
      and coalesce(n.is_nested, 0) = 0
) as o
left join (
    select
        x.kind as kind,
        x.key as key,
        max(x.added_ns) as seen_ns
    from context_entries as x
    left join lineages(p_session) as n on n.lineage = x.lineage
    where x.session_id = p_session
      and x.added_turn <= p_turn
      and coalesce(n.is_nested, 0) = 0
    group by x.kind, x.key
) as b on b.kind = o.kind and b.key = o.key
where o.age = 1
  and coalesce(b.seen_ns, 0) <= o.left_ns
