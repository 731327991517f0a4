-- one row: the first step at which turn a and turn b differ, why, and how both went
-- macro: first_divergence(p_session, p_turn_a, p_turn_b)
select
    f.step as step,
    case
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
    f.outcome_b as outcome_b,
    f.turn_outcome_a as turn_outcome_a,
    f.turn_outcome_b as turn_outcome_b,
    f.tokens_in_a as tokens_in_a,
    f.tokens_in_b as tokens_in_b,
    f.tokens_out_a as tokens_out_a,
    f.tokens_out_b as tokens_out_b,
    f.duration_ms_a as duration_ms_a,
    f.duration_ms_b as duration_ms_b
from (
    select
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
        case when a.input_hash = b.input_hash or a.input_hash = '' or b.input_hash = '' then 1 else 0 end as same_input,
        a.outcome as turn_outcome_a,
        b.outcome as turn_outcome_b,
        a.tokens_in as tokens_in_a,
        b.tokens_in as tokens_in_b,
        a.tokens_out as tokens_out_a,
        b.tokens_out as tokens_out_b,
        a.duration_ms as duration_ms_a,
        b.duration_ms as duration_ms_b,
        row_number() over (order by s.step) as place
    from paired_steps(p_session, p_turn_a, p_session, p_turn_b) as s
    join turn_attempts as a on a.session_id = p_session and a.turn = p_turn_a
    join turn_attempts as b on b.session_id = p_session and b.turn = p_turn_b
    where not s.same
       or not s.same_context
       or not s.same_request
       or (a.input_hash <> b.input_hash and a.input_hash <> '' and b.input_hash <> '')
) as f
where f.place = 1
