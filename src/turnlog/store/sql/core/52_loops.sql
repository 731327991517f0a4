-- one row: a tool that was called three times or more in one turn with the same input and the same result; going on while at most three other calls came after
-- view: loops
select
    l.session_id as session_id,
    n.turn as turn,
    l.tool as tool,
    l.input_hash as input_hash,
    l.input_summary as input_summary,
    l.outcome as outcome,
    l.result_summary as result_summary,
    l.times as times,
    case when l.calls_after <= 3 then 1 else 0 end as is_going_on,
    l.first_at as first_at,
    l.last_at as last_at,
    l.last_ns as last_ns,
    l.last_commit as commit_id
from (
    select
        r.session_id as session_id,
        r.turn_id as turn_id,
        r.tool as tool,
        r.input_hash as input_hash,
        max(r.input_summary) as input_summary,
        r.outcome as outcome,
        max(r.result_summary) as result_summary,
        count(*) as times,
        min(r.later_calls) as calls_after,
        min(r.started_at) as first_at,
        max(r.ended_at) as last_at,
        max(r.end_ns) as last_ns,
        max(case when r.repeat_place = 1 then r.commit_id else '' end) as last_commit
    from (
        select
            s.session_id as session_id,
            s.turn_id as turn_id,
            s.commit_id as commit_id,
            s.tool as tool,
            s.input_hash as input_hash,
            s.input_summary as input_summary,
            s.outcome as outcome,
            s.output_hash as output_hash,
            s.error_type as error_type,
            case when s.outcome = 'ok' then s.output_summary else s.status_message end as result_summary,
            s.started_at as started_at,
            s.ended_at as ended_at,
            s.end_ns as end_ns,
            row_number() over (partition by s.session_id order by s.start_ns desc, s.commit_id) - 1 as later_calls,
            row_number() over (
                partition by s.session_id, s.turn_id, s.tool, s.input_hash, s.outcome, s.output_hash, s.error_type
                order by s.start_ns desc, s.commit_id
            ) as repeat_place
        from span_rows as s
        where s.commit_kind = 'tool'
          and s.outcome <> 'in_flight'
          and s.input_hash <> ''
    ) as r
    group by r.session_id, r.turn_id, r.tool, r.input_hash, r.outcome, r.output_hash, r.error_type
    having count(*) >= 3
) as l
join turn_numbers as n on n.session_id = l.session_id and n.turn_id = l.turn_id
