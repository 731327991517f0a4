-- one row: a session that began in the middle of this one's work, as a sub-agent with a conversation of its own does
-- macro: nested_sessions(p_session)
select
    n.nested_session as nested_session,
    n.turn as turn,
    n.outer_commit as outer_commit,
    n.agent as agent,
    n.started_ns as started_ns
from (
    select
        i.session_id as nested_session,
        coalesce(t.turn, 0) as turn,
        case when o.operation = 'execute_tool' then o.commit_id else '' end as outer_commit,
        i.agent as agent,
        i.start_ns as started_ns,
        row_number() over (partition by i.session_id order by i.start_ns, i.span_id) as place
    from span_rows as o
    join span_rows as i on i.trace_id = o.trace_id and i.parent_id = o.span_id
    left join turn_numbers as t on t.session_id = o.session_id and t.turn_id = o.turn_id
    where o.session_id = p_session
      and i.session_id <> p_session
) as n
where n.place = 1
