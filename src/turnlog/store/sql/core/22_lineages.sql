-- one row: a sequence of contexts of one conversation with one model, and how many tool calls it runs in
-- macro: lineages(p_session)
with recursive above as (
    select
        f.lineage as lineage,
        f.started_ns as started_ns,
        f.trace_id as trace_id,
        f.parent_id as parent_id,
        cast(0 as bigint) as tool_calls,
        1 as steps
    from (
        select
            c.lineage as lineage,
            c.started_ns as started_ns,
            c.trace_id as trace_id,
            c.parent_id as parent_id,
            row_number() over (partition by c.lineage order by c.started_ns, c.commit_id) as age
        from commits as c
        where c.session_id = p_session
          and c.lineage <> ''
    ) as f
    where f.age = 1
    union all
    select
        b.lineage as lineage,
        b.started_ns as started_ns,
        b.trace_id as trace_id,
        s.next_parent as parent_id,
        b.tool_calls + case when s.tool_commit = '' then 0 else 1 end as tool_calls,
        b.steps + 1 as steps
    from above as b
    join span_parents(p_session) as s on s.trace_id = b.trace_id and s.span_id = b.parent_id
    where b.steps < 64
)
select
    d.lineage as lineage,
    d.first_ns as started_ns,
    d.depth as depth,
    case when d.depth > min(d.depth) over () then 1 else 0 end as is_nested
from (
    select
        a.lineage as lineage,
        min(a.started_ns) as first_ns,
        max(a.tool_calls) as depth
    from above as a
    group by a.lineage
) as d
