-- one row: a tool call, and which attempt it is: again in the same turn with the same input after a failure, or said to be a retry
-- view: tool_attempts
select
    a.session_id as session_id,
    a.turn as turn,
    a.commit_id as commit_id,
    a.tool as tool,
    a.input_hash as input_hash,
    row_number() over (partition by a.session_id, a.call_turn, a.call_tool, a.call_hash, a.lone, a.chain order by a.started_ns, a.commit_id) as attempt,
    count(*) over (partition by a.session_id, a.call_turn, a.call_tool, a.call_hash, a.lone, a.chain) as attempts,
    first_value(a.commit_id) over (partition by a.session_id, a.call_turn, a.call_tool, a.call_hash, a.lone, a.chain order by a.started_ns, a.commit_id) as original_commit_id,
    a.outcome as outcome,
    a.duration_ms as duration_ms
from (
    select
        k.session_id as session_id,
        k.turn as turn,
        k.commit_id as commit_id,
        k.tool as tool,
        k.input_hash as input_hash,
        k.outcome as outcome,
        k.duration_ms as duration_ms,
        k.started_ns as started_ns,
        k.call_turn as call_turn,
        k.call_tool as call_tool,
        k.call_hash as call_hash,
        k.lone as lone,
        sum(case when k.commit_id <> k.first_commit_id or (k.failed_before = 1 and k.ended_before_ns <= k.started_ns) then 0 else 1 end) over (
            partition by k.session_id, k.call_turn, k.call_tool, k.call_hash, k.lone
            order by k.call_started_ns, k.first_commit_id, k.started_ns, k.commit_id
            rows between unbounded preceding and current row
        ) as chain
    from (
        select
            g.session_id as session_id,
            g.turn as turn,
            g.commit_id as commit_id,
            g.tool as tool,
            g.input_hash as input_hash,
            g.outcome as outcome,
            g.duration_ms as duration_ms,
            g.started_ns as started_ns,
            g.first_commit_id as first_commit_id,
            g.call_turn as call_turn,
            g.call_tool as call_tool,
            g.call_hash as call_hash,
            g.call_started_ns as call_started_ns,
            case when g.call_hash = '' then g.first_commit_id else '' end as lone,
            lag(g.call_failed, 1, cast(0 as bigint)) over (
                partition by g.session_id, g.call_turn, g.call_tool, g.call_hash
                order by g.call_started_ns, g.first_commit_id, g.started_ns, g.commit_id
            ) as failed_before,
            lag(g.call_ended_ns, 1, cast(0 as bigint)) over (
                partition by g.session_id, g.call_turn, g.call_tool, g.call_hash
                order by g.call_started_ns, g.first_commit_id, g.started_ns, g.commit_id
            ) as ended_before_ns
        from (
            select
                r.session_id as session_id,
                r.turn as turn,
                r.commit_id as commit_id,
                r.tool as tool,
                r.input_hash as input_hash,
                r.outcome as outcome,
                r.duration_ms as duration_ms,
                r.started_ns as started_ns,
                r.first_commit_id as first_commit_id,
                max(case when r.commit_id = r.first_commit_id then r.turn else 0 end) over (partition by r.session_id, r.first_commit_id) as call_turn,
                max(case when r.commit_id = r.first_commit_id then r.tool else '' end) over (partition by r.session_id, r.first_commit_id) as call_tool,
                max(case when r.commit_id = r.first_commit_id then r.input_hash else '' end) over (partition by r.session_id, r.first_commit_id) as call_hash,
                min(r.started_ns) over (partition by r.session_id, r.first_commit_id) as call_started_ns,
                max(r.ended_ns) over (partition by r.session_id, r.first_commit_id) as call_ended_ns,
                cast(min(case when r.outcome in ('ok', 'in_flight') then 0 else 1 end) over (partition by r.session_id, r.first_commit_id) as bigint) as call_failed
            from (
                select
                    c.session_id as session_id,
                    c.turn as turn,
                    c.commit_id as commit_id,
                    c.tool as tool,
                    c.input_hash as input_hash,
                    c.outcome as outcome,
                    c.duration_ms as duration_ms,
                    c.started_ns as started_ns,
                    c.ended_ns as ended_ns,
                    case when coalesce(f.commit_id, '') = '' then c.commit_id else f.commit_id end as first_commit_id,
                    row_number() over (partition by c.session_id, c.commit_id order by coalesce(f.started_ns, 0) desc) as place
                from commits as c
                left join commits as f
                    on f.session_id = c.session_id
                    and f.span_id = c.retry_of
                    and f.kind = 'tool'
                    and f.commit_id <> c.commit_id
                    and f.started_ns <= c.started_ns
                where c.kind = 'tool'
            ) as r
            where r.place = 1
        ) as g
    ) as k
) as a
