-- one row: a turn, with how it went and which attempt it is of those with the same messages before it and the same input
-- view: turn_attempts
select
    n.session_id as session_id,
    n.turn as turn,
    n.turn_id as turn_id,
    n.input_hash as input_hash,
    n.prefix_hash as prefix_hash,
    row_number() over (partition by n.session_id, n.prefix_hash, n.input_hash, n.lone order by n.turn) as attempt,
    count(*) over (partition by n.session_id, n.prefix_hash, n.input_hash, n.lone) as attempts,
    min(n.turn) over (partition by n.session_id, n.prefix_hash, n.input_hash, n.lone) as original_turn,
    n.outcome as outcome,
    n.tokens_in as tokens_in,
    n.tokens_out as tokens_out,
    n.duration_ms as duration_ms
from (
    select
        t.session_id as session_id,
        t.turn as turn,
        t.turn_id as turn_id,
        w.prefix_hash as prefix_hash,
        w.input_hash as input_hash,
        case when w.prefix_hash = '' or w.input_hash = '' then t.turn_id else '' end as lone,
        case when w.running = 1 then 'in_flight' when w.last_outcome = '' then 'ok' else w.last_outcome end as outcome,
        w.tokens_in as tokens_in,
        w.tokens_out as tokens_out,
        (t.ended_ns - t.started_ns) / 1e6 as duration_ms
    from turn_numbers as t
    join (
        select
            p.session_id as session_id,
            p.turn_id as turn_id,
            max(case when p.prefix_place = 1 then p.prefix_hash else '' end) as prefix_hash,
            max(case when p.input_place = 1 then p.input_hash else '' end) as input_hash,
            max(case when p.ends_turn = 1 and p.end_place = 1 then p.outcome else '' end) as last_outcome,
            max(case when p.outcome = 'in_flight' then 1 else 0 end) as running,
            cast(sum(case when p.kind = 'decision' then p.input_tokens else 0 end) as bigint) as tokens_in,
            cast(sum(case when p.kind = 'decision' then p.output_tokens else 0 end) as bigint) as tokens_out
        from (
            select
                e.session_id as session_id,
                e.turn_id as turn_id,
                e.prefix_hash as prefix_hash,
                e.input_hash as input_hash,
                e.kind as kind,
                e.outcome as outcome,
                e.ends_turn as ends_turn,
                e.input_tokens as input_tokens,
                e.output_tokens as output_tokens,
                row_number() over (
                    partition by e.session_id, e.turn_id
                    order by e.has_prefix desc, e.start_ns, e.span_id
                ) as prefix_place,
                row_number() over (
                    partition by e.session_id, e.turn_id
                    order by e.has_input desc, e.start_ns, e.span_id
                ) as input_place,
                row_number() over (
                    partition by e.session_id, e.turn_id
                    order by e.ends_turn desc, e.end_ns desc, e.sequence desc
                ) as end_place
            from (
                select
                    s.session_id as session_id,
                    s.turn_id as turn_id,
                    s.span_id as span_id,
                    s.start_ns as start_ns,
                    s.end_ns as end_ns,
                    s.commit_sequence as sequence,
                    s.turn_prefix_hash as prefix_hash,
                    s.turn_input_hash as input_hash,
                    s.commit_kind as kind,
                    s.outcome as outcome,
                    s.input_tokens as input_tokens,
                    s.output_tokens as output_tokens,
                    case when s.turn_prefix_hash <> '' then 1 else 0 end as has_prefix,
                    case when s.turn_input_hash <> '' then 1 else 0 end as has_input,
                    case
                        when s.commit_kind in ('decision', 'tool') then 1
                        when s.commit_kind = 'lifecycle' and s.lifecycle_state = '' then 1
                        when s.outcome = 'interrupted' then 1
                        else 0
                    end as ends_turn
                from span_rows as s
            ) as e
        ) as p
        group by p.session_id, p.turn_id
    ) as w on w.session_id = t.session_id and w.turn_id = t.turn_id
) as n
