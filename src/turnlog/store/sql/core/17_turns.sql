-- one row: a turn, with what was asked, what was answered, and what came of it
-- view: turns
select
    t.session_id as session_id,
    t.turn as turn,
    t.turn_id as turn_id,
    max(s.turn_input) as input_summary,
    case when max(s.turn_output) <> '' then max(s.turn_output) else max(s.model_answer) end as output_summary,
    case when max(s.turn_output) in ('', max(s.model_answer)) then max(s.model_commit) else '' end as answer_commit,
    min(s.started_at) as started_at,
    max(s.ended_at) as ended_at,
    -- A checkpoint or an item that a run saves by itself repeats what its commits did.
    cast(
        sum(
            case
                when s.commit_kind <> '' and s.checkpoint_source not in ('input', 'step') and s.memory_operation = '' then 1
                else 0
            end
        ) as bigint
    ) as commits,
    cast(sum(case when s.commit_kind = 'tool' then 1 else 0 end) as bigint) as tool_calls,
    cast(sum(case when s.commit_kind <> '' and s.outcome not in ('ok', 'in_flight') then 1 else 0 end) as bigint) as failures,
    cast(sum(case when s.commit_kind <> '' and s.outcome = 'in_flight' then 1 else 0 end) as bigint) as in_flight,
    max(t.started_ns) as started_ns,
    max(t.ended_ns) as ended_ns
from turn_numbers as t
join (
    select
        r.session_id as session_id,
        r.turn_id as turn_id,
        r.turn_input as turn_input,
        r.turn_output as turn_output,
        r.started_at as started_at,
        r.ended_at as ended_at,
        r.commit_kind as commit_kind,
        r.checkpoint_source as checkpoint_source,
        r.memory_operation as memory_operation,
        r.outcome as outcome,
        case when r.age = 1 and r.is_step = 1 and r.choice = 'answer' then r.commit_id else '' end as model_commit,
        case when r.age = 1 and r.is_step = 1 and r.choice = 'answer' then r.output_summary else '' end as model_answer
    from (
        select
            p.session_id as session_id,
            p.turn_id as turn_id,
            p.commit_id as commit_id,
            p.turn_input as turn_input,
            p.turn_output as turn_output,
            p.started_at as started_at,
            p.ended_at as ended_at,
            p.commit_kind as commit_kind,
            p.checkpoint_source as checkpoint_source,
            p.memory_operation as memory_operation,
            p.outcome as outcome,
            p.choice as choice,
            p.output_summary as output_summary,
            case when p.operation <> '' and p.commit_kind <> '' then 1 else 0 end as is_step,
            -- An answer that a model gave inside of a tool call is not the last step: the tool call ends after it.
            row_number() over (
                partition by p.session_id, p.turn_id, case when p.operation <> '' and p.commit_kind <> '' then 1 else 0 end
                order by case when p.outcome = 'in_flight' then 0 else 1 end, p.end_ns desc, p.commit_sequence desc
            ) as age
        from span_rows as p
    ) as r
) as s on s.session_id = t.session_id and s.turn_id = t.turn_id
group by t.session_id, t.turn, t.turn_id
