-- one row: a turn with where its time went (tools: without the model calls inside of them), what went wrong in it, and since when what runs in it does
-- view: turn_bars
select
    t.session_id as session_id,
    t.turn as turn,
    t.input_summary as input_summary,
    t.output_summary as output_summary,
    t.started_at as started_at,
    t.ended_at as ended_at,
    t.started_ns as started_ns,
    (greatest(t.ended_ns, coalesce(w.last_ns, 0)) - t.started_ns) / 1e6 as duration_ms,
    coalesce(w.model_ns, 0) / 1e6 as model_ms,
    (coalesce(w.busy_ns, 0) - coalesce(w.model_ns, 0)) / 1e6 as tool_ms,
    t.commits as commits,
    t.tool_calls as tool_calls,
    t.failures as failures,
    coalesce(w.interrupted_count, 0) as interrupted,
    t.in_flight as in_flight,
    coalesce(w.evicted_count, 0) as evicted,
    a.attempt as attempt,
    a.attempts as attempts,
    coalesce(w.is_running, 0) as is_running,
    coalesce(w.model_since_ns, 0) as model_since_ns,
    coalesce(w.tool_since_ns, 0) as tool_since_ns
from turns as t
join turn_attempts as a on a.session_id = t.session_id and a.turn = t.turn
left join (
    -- What runs beside or inside of something else is counted once: only what reaches beyond all that began before.
    select
        b.session_id as session_id,
        b.turn_id as turn_id,
        sum(case when b.is_model = 1 then greatest(b.end_ns - greatest(b.start_ns, b.model_before_ns), 0) else 0 end) as model_ns,
        sum(case when b.is_step = 1 then greatest(b.end_ns - greatest(b.start_ns, b.busy_before_ns), 0) else 0 end) as busy_ns,
        max(case when b.outcome = 'interrupted' then b.end_ns else 0 end) as last_ns,
        cast(sum(case when b.commit_kind <> '' and b.outcome = 'interrupted' then 1 else 0 end) as bigint) as interrupted_count,
        cast(sum(case when b.commit_kind = 'eviction' then 1 else 0 end) as bigint) as evicted_count,
        max(case when b.outcome = 'in_flight' then 1 else 0 end) as is_running,
        max(case when b.outcome = 'in_flight' and b.is_model = 1 then b.start_ns else 0 end) as model_since_ns,
        max(case when b.outcome = 'in_flight' and b.is_step > b.is_model then b.start_ns else 0 end) as tool_since_ns
    from (
        select
            k.session_id as session_id,
            k.turn_id as turn_id,
            k.commit_kind as commit_kind,
            k.outcome as outcome,
            k.is_model as is_model,
            k.is_step as is_step,
            k.start_ns as start_ns,
            k.end_ns as end_ns,
            coalesce(max(case when k.is_model = 1 then k.end_ns else 0 end) over earlier, 0) as model_before_ns,
            coalesce(max(case when k.is_step = 1 then k.end_ns else 0 end) over earlier, 0) as busy_before_ns
        from (
            select
                s.session_id as session_id,
                s.turn_id as turn_id,
                s.commit_id as commit_id,
                s.commit_kind as commit_kind,
                s.outcome as outcome,
                case when s.commit_kind = 'decision' and s.operation <> '' then 1 else 0 end as is_model,
                case when s.commit_kind = 'tool' or (s.commit_kind = 'decision' and s.operation <> '') then 1 else 0 end as is_step,
                s.start_ns as start_ns,
                s.end_ns as end_ns
            from span_rows as s
        ) as k
        window earlier as (
            partition by k.session_id, k.turn_id
            order by k.start_ns, k.end_ns, k.commit_id
            rows between unbounded preceding and 1 preceding
        )
    ) as b
    group by b.session_id, b.turn_id
) as w on w.session_id = t.session_id and w.turn_id = t.turn_id
