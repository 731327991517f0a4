-- one row: a tool call, and which attempt it is: again in a turn with the same input after it failed, or said to be a retry
-- view: tool_attempts
select
    a.session_id as session_id,
    a.turn as turn,
    a.commit_id as commit_id,
    a.tool as tool,
    a.input_hash as input_hash,
    row_number() over (
        partition by a.session_id, a.first_turn_id, a.first_tool, a.first_hash, a.lone, a.chain
        order by a.start_ns, a.commit_id
    ) as attempt,
    count(*) over (
        partition by a.session_id, a.first_turn_id, a.first_tool, a.first_hash, a.lone, a.chain
    ) as attempts,
    first_value(a.commit_id) over (
        partition by a.session_id, a.first_turn_id, a.first_tool, a.first_hash, a.lone, a.chain
        order by a.start_ns, a.commit_id
    ) as original_commit_id,
    a.outcome as outcome,
    a.duration_ms as duration_ms
from (
    -- A call is an attempt with the retries that name it. It begins a new chain of attempts unless the call before it failed.
    select
        k.session_id as session_id,
        k.turn as turn,
        k.commit_id as commit_id,
        k.tool as tool,
        k.input_hash as input_hash,
        k.outcome as outcome,
        k.duration_ms as duration_ms,
        k.start_ns as start_ns,
        k.first_turn_id as first_turn_id,
        k.first_tool as first_tool,
        k.first_hash as first_hash,
        case when k.first_hash = '' then k.first_commit_id else '' end as lone,
        sum(
            case
                when k.commit_id <> k.first_commit_id then 0
                when k.failed_before = 1 and k.ended_before_ns <= k.start_ns then 0
                else 1
            end
        ) over (
            partition by k.session_id, k.first_turn_id, k.first_tool, k.first_hash
            order by k.first_ns, k.first_commit_id, k.start_ns, k.commit_id
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
            g.start_ns as start_ns,
            g.first_commit_id as first_commit_id,
            g.first_turn_id as first_turn_id,
            g.first_tool as first_tool,
            g.first_hash as first_hash,
            g.first_ns as first_ns,
            lag(g.failed, 1, cast(0 as bigint)) over (
                partition by g.session_id, g.first_turn_id, g.first_tool, g.first_hash
                order by g.first_ns, g.first_commit_id, g.start_ns, g.commit_id
            ) as failed_before,
            lag(g.last_ns, 1, cast(0 as bigint)) over (
                partition by g.session_id, g.first_turn_id, g.first_tool, g.first_hash
                order by g.first_ns, g.first_commit_id, g.start_ns, g.commit_id
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
                r.start_ns as start_ns,
                first_value(r.commit_id) over (
                    partition by r.session_id, r.process_key, r.first_span_id
                    order by r.start_ns, r.commit_id
                ) as first_commit_id,
                first_value(r.turn_id) over (
                    partition by r.session_id, r.process_key, r.first_span_id
                    order by r.start_ns, r.commit_id
                ) as first_turn_id,
                first_value(r.tool) over (
                    partition by r.session_id, r.process_key, r.first_span_id
                    order by r.start_ns, r.commit_id
                ) as first_tool,
                first_value(r.input_hash) over (
                    partition by r.session_id, r.process_key, r.first_span_id
                    order by r.start_ns, r.commit_id
                ) as first_hash,
                min(r.start_ns) over (partition by r.session_id, r.process_key, r.first_span_id) as first_ns,
                max(r.end_ns) over (partition by r.session_id, r.process_key, r.first_span_id) as last_ns,
                min(r.failed) over (partition by r.session_id, r.process_key, r.first_span_id) as failed
            from (
                select
                    s.session_id as session_id,
                    t.turn as turn,
                    s.turn_id as turn_id,
                    s.process_key as process_key,
                    s.commit_id as commit_id,
                    s.tool as tool,
                    s.input_hash as input_hash,
                    s.outcome as outcome,
                    s.duration_ms as duration_ms,
                    s.start_ns as start_ns,
                    s.end_ns as end_ns,
                    -- Only within a process: one that seeds its random numbers has the same span ids in every run.
                    case when s.retry_of = '' then s.span_id else s.retry_of end as first_span_id,
                    cast(case when s.outcome in ('ok', 'in_flight') then 0 else 1 end as bigint) as failed
                from span_rows as s
                join turn_numbers as t on t.session_id = s.session_id and t.turn_id = s.turn_id
                where s.commit_kind = 'tool'
            ) as r
        ) as g
    ) as k
) as a
