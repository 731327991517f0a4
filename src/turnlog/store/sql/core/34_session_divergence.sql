-- one row: the first step at which two sessions differ, turn by turn, and why
-- macro: session_divergence(p_session_a, p_session_b)
select
    f.turn as turn,
    f.step as step,
    case
        when f.has_turn_a = 0 or f.has_turn_b = 0 then 'one ended'
        when f.same_input = 0 then 'input'
        when not f.same_context then 'context'
        when not f.same_request then 'model or parameters'
        when f.kind_a <> 'tool' or f.kind_b <> 'tool' or f.outcome_a = 'in_flight' or f.outcome_b = 'in_flight' then 'unknown'
        when f.tool_a = f.tool_b and f.input_hash_a = f.input_hash_b then 'tool result'
        else 'unknown'
    end as cause,
    f.commit_a as commit_a,
    f.commit_b as commit_b,
    f.outcome_a as outcome_a,
    f.outcome_b as outcome_b
from (
    select
        s.turn as turn,
        s.step as step,
        s.commit_a as commit_a,
        s.commit_b as commit_b,
        s.kind_a as kind_a,
        s.kind_b as kind_b,
        s.tool_a as tool_a,
        s.tool_b as tool_b,
        s.input_hash_a as input_hash_a,
        s.input_hash_b as input_hash_b,
        s.outcome_a as outcome_a,
        s.outcome_b as outcome_b,
        s.same_context as same_context,
        s.same_request as same_request,
        case when coalesce(a.turn, 0) = 0 then 0 else 1 end as has_turn_a,
        case when coalesce(b.turn, 0) = 0 then 0 else 1 end as has_turn_b,
        case
            when coalesce(a.input_hash, '') = '' or coalesce(b.input_hash, '') = '' or a.input_hash = b.input_hash then 1
            else 0
        end as same_input,
        row_number() over (order by s.turn, s.step) as place
    from paired_steps(p_session_a, 0, p_session_b, 0) as s
    left join turn_attempts as a on a.session_id = p_session_a and a.turn = s.turn
    left join turn_attempts as b on b.session_id = p_session_b and b.turn = s.turn
    where not s.same
       or not s.same_context
       or not s.same_request
       or (coalesce(a.input_hash, '') <> '' and coalesce(b.input_hash, '') <> '' and a.input_hash <> b.input_hash)
) as f
where f.place = 1
