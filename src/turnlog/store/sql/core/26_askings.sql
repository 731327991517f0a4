-- one row: a commit, the tool call that it ran in or is, and the model call that asked for that
-- macro: askings(p_session)
with recursive
spans as (
    select
        s.session_id as session_id,
        s.trace_id as trace_id,
        s.span_id as span_id,
        s.parent_id as parent_id,
        s.commit_id as commit_id,
        s.commit_kind as kind,
        s.lineage as lineage,
        s.decision_id as decision_id,
        case when s.commit_kind = 'tool' and (s.tool_call_id <> '' or s.decision_id <> '') then 1 else 0 end as is_asked,
        s.start_ns as started_ns
    from span_rows as s
    where s.session_id = p_session
       or p_session = ''
),
asked as (
    select
        t.session_id as session_id,
        t.trace_id as trace_id,
        t.span_id as span_id,
        t.commit_id as commit_id,
        t.started_ns as started_ns,
        coalesce(d.commit_id, '') as asked_by
    from spans as t
    asof left join (
        select
            c.session_id as session_id,
            c.span_id as span_id,
            c.commit_id as commit_id,
            c.started_ns as started_ns
        from spans as c
        where c.kind = 'decision'
          and c.lineage <> ''
    ) as d
        on d.session_id = t.session_id
        and d.span_id = t.decision_id
        and d.started_ns <= t.started_ns
    where t.is_asked = 1
),
-- Down from tools, which seldom have anything below, and not up from every span. Distinct: a span may claim to be its own parent.
below as (
    select
        a.session_id as session_id,
        a.commit_id as ran_in,
        a.asked_by as asked_by,
        s.trace_id as trace_id,
        s.span_id as span_id,
        s.commit_id as commit_id,
        s.kind as kind,
        s.lineage as lineage,
        s.started_ns as started_ns
    from asked as a
    join spans as s
        on s.session_id = a.session_id
        and s.trace_id = a.trace_id
        and s.parent_id = a.span_id
    where s.is_asked = 0
    union
    select
        b.session_id as session_id,
        b.ran_in as ran_in,
        b.asked_by as asked_by,
        s.trace_id as trace_id,
        s.span_id as span_id,
        s.commit_id as commit_id,
        s.kind as kind,
        s.lineage as lineage,
        s.started_ns as started_ns
    from below as b
    join spans as s
        on s.session_id = b.session_id
        and s.trace_id = b.trace_id
        and s.parent_id = b.span_id
    where s.is_asked = 0
)
select
    a.session_id as session_id,
    a.commit_id as commit_id,
    'tool' as kind,
    '' as lineage,
    a.commit_id as ran_in,
    a.asked_by as asked_by,
    a.started_ns as started_ns
from asked as a
union all
select
    b.session_id as session_id,
    b.commit_id as commit_id,
    b.kind as kind,
    b.lineage as lineage,
    b.ran_in as ran_in,
    b.asked_by as asked_by,
    b.started_ns as started_ns
from below as b
where b.kind in ('tool', 'decision', 'note')
