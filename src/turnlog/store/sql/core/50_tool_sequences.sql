-- one row: two or three tools that were called one after the other, over all sessions but replays
-- view: tool_sequences
select
    g.length as length,
    g.tools as tools,
    count(*) as times,
    count(distinct g.session_id) as sessions,
    cast(sum(g.failed) as bigint) as failures,
    max(g.ended_at) as last_at
from (
    select
        c.session_id as session_id,
        2 as length,
        concat(c.before_tool, ' > ', c.tool) as tools,
        c.failed as failed,
        c.ended_at as ended_at
    from consecutive_calls as c
    where c.before_tool <> ''
    union all
    select
        c.session_id as session_id,
        3 as length,
        concat(c.before_that_tool, ' > ', c.before_tool, ' > ', c.tool) as tools,
        c.failed as failed,
        c.ended_at as ended_at
    from consecutive_calls as c
    where c.before_that_tool <> ''
) as g
group by g.length, g.tools
