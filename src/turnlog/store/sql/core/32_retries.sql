-- one row: a further attempt of a turn or of a tool call, beside the original
-- view: retries
select
    r.session_id as session_id,
    r.kind as kind,
    r.attempt as attempt,
    r.original_turn as original_turn,
    r.original_commit_id as original_commit_id,
    r.turn as turn,
    r.commit_id as commit_id,
    r.tool as tool,
    r.original_outcome as original_outcome,
    r.outcome as outcome,
    r.original_tokens_in as original_tokens_in,
    r.tokens_in as tokens_in,
    r.original_tokens_out as original_tokens_out,
    r.tokens_out as tokens_out,
    r.original_duration_ms as original_duration_ms,
    r.duration_ms as duration_ms
from (
    select
        t.session_id as session_id,
        'turn' as kind,
        t.attempt as attempt,
        t.original_turn as original_turn,
        '' as original_commit_id,
        t.turn as turn,
        '' as commit_id,
        '' as tool,
        first_value(t.outcome) over (partition by t.session_id, t.original_turn order by t.attempt) as original_outcome,
        t.outcome as outcome,
        first_value(t.tokens_in) over (partition by t.session_id, t.original_turn order by t.attempt) as original_tokens_in,
        t.tokens_in as tokens_in,
        first_value(t.tokens_out) over (partition by t.session_id, t.original_turn order by t.attempt) as original_tokens_out,
        t.tokens_out as tokens_out,
        first_value(t.duration_ms) over (partition by t.session_id, t.original_turn order by t.attempt) as original_duration_ms,
        t.duration_ms as duration_ms
    from turn_attempts as t
    where t.attempts > 1
    union all
    select
        c.session_id as session_id,
        'tool' as kind,
        c.attempt as attempt,
        first_value(c.turn) over (partition by c.session_id, c.original_commit_id order by c.attempt) as original_turn,
        c.original_commit_id as original_commit_id,
        c.turn as turn,
        c.commit_id as commit_id,
        c.tool as tool,
        first_value(c.outcome) over (partition by c.session_id, c.original_commit_id order by c.attempt) as original_outcome,
        c.outcome as outcome,
        cast(0 as bigint) as original_tokens_in,
        cast(0 as bigint) as tokens_in,
        cast(0 as bigint) as original_tokens_out,
        cast(0 as bigint) as tokens_out,
        first_value(c.duration_ms) over (
            partition by c.session_id, c.original_commit_id
            order by c.attempt
        ) as original_duration_ms,
        c.duration_ms as duration_ms
    from tool_attempts as c
    where c.attempts > 1
) as r
where r.attempt > 1
