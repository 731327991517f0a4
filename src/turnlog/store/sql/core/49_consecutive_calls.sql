-- one row: a tool call that is no replay of one, with the tools that were called before it in its turn
-- view: consecutive_calls
select
    s.session_id as session_id,
    s.turn_id as turn_id,
    s.commit_id as commit_id,
    s.tool as tool,
    lag(s.tool, 1, '') over (partition by s.session_id, s.turn_id order by s.start_ns, s.commit_id) as before_tool,
    lag(s.tool, 2, '') over (partition by s.session_id, s.turn_id order by s.start_ns, s.commit_id) as before_that_tool,
    case when s.outcome in ('ok', 'in_flight') then 0 else 1 end as failed,
    s.ended_at as ended_at
from span_rows as s
where s.commit_kind = 'tool'
  and s.replay_of = ''
