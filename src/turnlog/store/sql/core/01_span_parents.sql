-- one row: a span of the session by its ids, with the span that it is in, and its commit if it is a tool call
-- macro: span_parents(p_session)
select
    s.trace_id as trace_id,
    s.span_id as span_id,
    -- One row each: a program that seeds its random numbers gives the same ids again in every run.
    max(s.parent_id) as next_parent,
    max(case when s.operation = 'execute_tool' then s.commit_id else '' end) as tool_commit
from span_rows as s
where s.session_id = p_session
group by s.trace_id, s.span_id
