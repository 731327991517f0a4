-- one row: a turn, with what was asked and what came of it
-- view: turns
select
    t.session_id as session_id,
    t.turn as turn,
    t.turn_id as turn_id,
    max(s.turn_input) as input_summary,
    min(s.started_at) as started_at,
    max(s.ended_at) as ended_at,
    -- A checkpoint that a run saves by itself repeats what its commits did.
    cast(sum(case when s.commit_kind <> '' and s.checkpoint_source not in ('input', 'step') then 1 else 0 end) as bigint) as commits,
    cast(sum(case when s.commit_kind = 'tool' then 1 else 0 end) as bigint) as tool_calls,
    cast(sum(case when s.commit_kind <> '' and s.outcome not in ('ok', 'in_flight') then 1 else 0 end) as bigint) as failures,
    cast(sum(case when s.outcome = 'in_flight' then 1 else 0 end) as bigint) as in_flight,
    max(t.started_ns) as started_ns,
    max(t.ended_ns) as ended_ns
from turn_numbers as t
join span_rows as s on s.session_id = t.session_id and s.turn_id = t.turn_id
group by t.session_id, t.turn, t.turn_id
