-- one row: a turn with where its time went, and what went wrong in it
-- view: turn_bars
select
    t.session_id as session_id,
    t.turn as turn,
    t.input_summary as input_summary,
    t.output_summary as output_summary,
    t.started_at as started_at,
    t.ended_at as ended_at,
    t.started_ns as started_ns,
    (t.ended_ns - t.started_ns) / 1e6 as duration_ms,
    coalesce(w.model_ms, 0) as model_ms,
    coalesce(w.tool_ms, 0) as tool_ms,
    t.commits as commits,
    t.tool_calls as tool_calls,
    t.failures as failures,
    t.in_flight as in_flight,
    coalesce(w.evicted, 0) as evicted,
    a.attempt as attempt,
    a.attempts as attempts
from turns as t
join turn_attempts as a on a.session_id = t.session_id and a.turn = t.turn
left join (
    select
        s.session_id as session_id,
        s.turn_id as turn_id,
        sum(case when s.commit_kind = 'decision' and s.operation <> '' then s.end_ns - s.start_ns else 0 end) / 1e6 as model_ms,
        sum(case when s.commit_kind = 'tool' then s.end_ns - s.start_ns else 0 end) / 1e6 as tool_ms,
        cast(sum(case when s.commit_kind = 'eviction' then 1 else 0 end) as bigint) as evicted
    from span_rows as s
    group by s.session_id, s.turn_id
) as w on w.session_id = t.session_id and w.turn_id = t.turn_id
