-- one row: how turns ended, over all sessions but replays, and what they cost
-- view: outcome_costs
select
    a.outcome as outcome,
    count(*) as turns,
    count(distinct a.session_id) as sessions,
    cast(sum(a.tokens_in) as bigint) as tokens_in,
    cast(sum(a.tokens_out) as bigint) as tokens_out,
    avg(a.tokens_in + a.tokens_out) as tokens_per_turn,
    -- Of whole numbers: a mean of fractions changes with the order of the rows.
    avg(cast(round(a.duration_ms * 1e6) as bigint)) / 1e6 as mean_ms,
    cast(sum(case when a.attempt > 1 then 1 else 0 end) as bigint) as retries
from turn_attempts as a
where a.session_id not in (select r.session_id from replays as r)
group by a.outcome
