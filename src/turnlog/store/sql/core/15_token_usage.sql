-- one row: the tokens that one model cost in one turn
-- view: token_usage
select
    s.session_id as session_id,
    t.turn as turn,
    case when s.response_model <> '' then s.response_model else s.request_model end as model,
    count(*) as calls,
    cast(sum(s.input_tokens) as bigint) as tokens_in,
    cast(sum(s.output_tokens) as bigint) as tokens_out,
    cast(sum(s.cached_tokens) as bigint) as tokens_cached,
    cast(sum(s.reasoning_tokens) as bigint) as tokens_reasoning
from span_rows as s
join turn_numbers as t on t.session_id = s.session_id and t.turn_id = s.turn_id
where s.commit_kind = 'decision'
  and s.operation <> ''
group by s.session_id, t.turn, case when s.response_model <> '' then s.response_model else s.request_model end
