-- Sessions with the most failures
select session_id, status, turns, failures
from sessions
order by failures desc
limit 20;

-- Which tools fail, and how often
select tool, sum(calls) as calls, sum(errors + timeouts + cut_short) as failed
from tool_stats
group by tool
order by failed desc;

-- Slowest tools
select tool, sum(mean_ms * calls) / sum(calls) as mean_ms, max(slowest_ms) as slowest_ms
from tool_stats
group by tool
order by mean_ms desc
limit 20;

-- What failed and was not done since
select session_id, turn, tool, outcome, error_message
from unresolved_failures
order by failed_at desc
limit 50;

-- Decisions that were reversed
select session_id, about, choice_before, choice_after, reason_after
from decision_reversals
order by decided_at desc
limit 50;

-- Loops that go on
select session_id, turn, tool, times, input_summary, result_summary
from loops
where is_going_on = 1;

-- Retries that went differently
select session_id, kind, original_turn, turn, original_outcome, outcome
from retries
where outcome <> original_outcome;

-- Files that several sessions changed
select key, count(distinct session_id) as sessions
from entries
where kind = 'file' and action in ('create', 'write', 'delete')
group by key
having sessions > 1
order by sessions desc;

-- What fell out of contexts, and why
select reason, kind, count(*) as entries
from evictions
group by all
order by entries desc;

-- Tokens by agent and model
select concat(agent, ' ', model) as who, sum(input_tokens) as tokens_in, sum(output_tokens) as tokens_out
from commits
where kind = 'decision' and model <> ''
group by all
order by tokens_in desc;
