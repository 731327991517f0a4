-- one row: a commit that was made inside of a tool call, by a sub-agent or by the tool itself, and that call
-- macro: nested_commits(p_session)
with recursive above as (
    select
        c.commit_id as commit_id,
        c.trace_id as trace_id,
        c.parent_id as parent_id,
        '' as outer_commit,
        1 as steps
    from commits as c
    where c.session_id = p_session
      and c.parent_id <> ''
    union all
    select
        b.commit_id as commit_id,
        b.trace_id as trace_id,
        s.next_parent as parent_id,
        s.tool_commit as outer_commit,
        b.steps + 1 as steps
    from above as b
    join span_parents(p_session) as s on s.trace_id = b.trace_id and s.span_id = b.parent_id
    where b.outer_commit = ''
      and b.steps < 64
)
select
    a.commit_id as commit_id,
    max(a.outer_commit) as outer_commit
from above as a
where a.outer_commit <> ''
group by a.commit_id
