-- one row: how a tool did in a session
-- view: tool_stats
select
    c.session_id as session_id,
    c.tool as tool,
    count(*) as calls,
    cast(sum(case when c.outcome = 'ok' then 1 else 0 end) as bigint) as ok_calls,
    cast(sum(case when c.outcome = 'error' then 1 else 0 end) as bigint) as errors,
    cast(sum(case when c.outcome = 'timeout' then 1 else 0 end) as bigint) as timeouts,
    cast(sum(case when c.outcome in ('cancelled', 'interrupted') then 1 else 0 end) as bigint) as cut_short,
    -- Of whole numbers: a mean of fractions changes with the order of the rows.
    avg(c.ended_ns - c.started_ns) / 1e6 as mean_ms,
    max(c.duration_ms) as slowest_ms
from commits as c
where c.kind = 'tool'
  and c.outcome <> 'in_flight'
group by c.session_id, c.tool
