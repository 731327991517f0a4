-- one row: a step (a decision or a tool call) of a turn beside the same step of another turn, or of each turn where both are 0, and whether they are alike
-- macro: paired_steps(p_session_a, p_turn_a, p_session_b, p_turn_b)
with taken as (
    -- Calls that one decision asked for stand in the order in which it asked: which of them ends first is chance.
    select
        w.side as side,
        case when w.of_turn = 0 then t.turn else p_turn_a end as turn,
        row_number() over (
            partition by w.side, t.turn
            order by
                case when coalesce(d.start_ns, 0) = 0 then s.start_ns else d.start_ns end,
                case when coalesce(d.start_ns, 0) = 0 then s.commit_id else d.commit_id end,
                case when coalesce(d.start_ns, 0) = 0 then 0 else 1 end,
                case when coalesce(q.call_position, 0) = 0 then 1000000 else q.call_position end,
                case when coalesce(q.call_position, 0) = 0 then s.tool else '' end,
                case when coalesce(q.call_position, 0) = 0 then s.input_hash else '' end,
                s.start_ns,
                s.commit_id
        ) as step,
        s.commit_id as commit_id,
        s.commit_kind as kind,
        s.tool as tool,
        s.input_hash as input_hash,
        case when s.commit_kind = 'tool' or s.operation = '' then s.input_hash else '' end as given_hash,
        s.output_hash as output_hash,
        s.output_summary as output_summary,
        s.choice as choice,
        s.reason as reason,
        s.outcome as outcome,
        s.error_type as error_type,
        s.request_model as model,
        s.response_model as response_model,
        s.provider as provider,
        s.request_parameters as parameters,
        s.context_hash as context_hash,
        s.calls as calls
    from span_rows as s
    join turn_numbers as t on t.session_id = s.session_id and t.turn_id = s.turn_id
    join (
        select
            'a' as side,
            p_session_a as of_session,
            p_turn_a as of_turn
        union all
        select
            'b' as side,
            p_session_b as of_session,
            p_turn_b as of_turn
    ) as w on w.of_session = s.session_id and (w.of_turn = 0 or w.of_turn = t.turn)
    left join span_rows as d
        on d.session_id = s.session_id
        and d.turn_id = s.turn_id
        and d.span_id = s.decision_id
        and d.commit_kind = 'decision'
        and s.commit_kind = 'tool'
    left join asked_call_rows as q
        on q.session_id = s.session_id
        and q.commit_id = d.commit_id
        and q.tool_call_id = s.tool_call_id
    where s.session_id in (p_session_a, p_session_b)
      and s.commit_kind in ('decision', 'tool')
),
paired as (
    select
        x.turn as turn,
        x.step as step,
        max(case when x.side = 'a' then x.commit_id else '' end) as commit_a,
        max(case when x.side = 'b' then x.commit_id else '' end) as commit_b,
        max(case when x.side = 'a' then x.kind else '' end) as kind_a,
        max(case when x.side = 'b' then x.kind else '' end) as kind_b,
        max(case when x.side = 'a' then x.tool else '' end) as tool_a,
        max(case when x.side = 'b' then x.tool else '' end) as tool_b,
        max(case when x.side = 'a' then x.input_hash else '' end) as input_hash_a,
        max(case when x.side = 'b' then x.input_hash else '' end) as input_hash_b,
        max(case when x.side = 'a' then x.given_hash else '' end) as given_hash_a,
        max(case when x.side = 'b' then x.given_hash else '' end) as given_hash_b,
        max(case when x.side = 'a' then x.output_hash else '' end) as output_hash_a,
        max(case when x.side = 'b' then x.output_hash else '' end) as output_hash_b,
        max(case when x.side = 'a' then x.output_summary else '' end) as output_summary_a,
        max(case when x.side = 'b' then x.output_summary else '' end) as output_summary_b,
        max(case when x.side = 'a' then x.choice else '' end) as choice_a,
        max(case when x.side = 'b' then x.choice else '' end) as choice_b,
        max(case when x.side = 'a' then x.reason else '' end) as reason_a,
        max(case when x.side = 'b' then x.reason else '' end) as reason_b,
        max(case when x.side = 'a' then x.outcome else '' end) as outcome_a,
        max(case when x.side = 'b' then x.outcome else '' end) as outcome_b,
        max(case when x.side = 'a' then x.error_type else '' end) as error_a,
        max(case when x.side = 'b' then x.error_type else '' end) as error_b,
        max(case when x.side = 'a' then x.model else '' end) as model_a,
        max(case when x.side = 'b' then x.model else '' end) as model_b,
        max(case when x.side = 'a' then x.response_model else '' end) as response_model_a,
        max(case when x.side = 'b' then x.response_model else '' end) as response_model_b,
        max(case when x.side = 'a' then x.provider else '' end) as provider_a,
        max(case when x.side = 'b' then x.provider else '' end) as provider_b,
        max(case when x.side = 'a' then x.parameters else '' end) as parameters_a,
        max(case when x.side = 'b' then x.parameters else '' end) as parameters_b,
        max(case when x.side = 'a' then x.context_hash else '' end) as context_hash_a,
        max(case when x.side = 'b' then x.context_hash else '' end) as context_hash_b,
        max(case when x.side = 'a' then x.calls else '' end) as calls_a,
        max(case when x.side = 'b' then x.calls else '' end) as calls_b
    from taken as x
    group by x.turn, x.step
),
counted as (
    -- A provider names its tool calls anew each time, and the names are in the hashes of what the model said and was told.
    -- Two contexts that came together before, as when a turn is run again, have been compared: neither has changed since.
    select
        p.turn as turn,
        p.step as step,
        coalesce(sum(case when p.calls_a <> p.calls_b then 1 else 0 end) over (
            order by p.turn, p.step
            rows between unbounded preceding and 1 preceding
        ), 0) as renamed_before,
        coalesce(sum(case when p.context_hash_a <> '' and p.context_hash_b <> '' then 1 else 0 end) over (
            order by p.turn, p.step
            rows between unbounded preceding and 1 preceding
        ), 0) as contexts_before,
        row_number() over (
            partition by p.context_hash_a, p.context_hash_b
            order by p.turn, p.step
        ) as times_seen
    from paired as p
),
moved as (
    -- Past the first context of a turn it is enough to compare what each gained and lost, in whatever order.
    select
        m.turn as turn,
        m.step as step,
        sum(m.in_a) as changes_a,
        sum(m.in_b) as changes_b,
        sum(case when m.in_a <> m.in_b then 1 else 0 end) as unlike
    from (
        select
            u.turn as turn,
            u.step as step,
            sum(case when u.side = 'a' then 1 else 0 end) as in_a,
            sum(case when u.side = 'b' then 1 else 0 end) as in_b
        from (
            select
                x.turn as turn,
                x.step as step,
                x.side as side,
                c.op as op,
                c.role as role,
                case when n.renamed_before > 0 and c.role in ('assistant', 'tool') then '' else c.message_hash end as digest
            from taken as x
            join counted as n on n.turn = x.turn and n.step = x.step
            join context_rows as c on c.commit_id = x.commit_id
            where c.session_id in (p_session_a, p_session_b)
        ) as u
        group by u.turn, u.step, u.op, u.role, u.digest
    ) as m
    group by m.turn, m.step
)
select
    p.turn as turn,
    p.step as step,
    p.commit_a as commit_a,
    p.commit_b as commit_b,
    p.kind_a as kind_a,
    p.kind_b as kind_b,
    p.tool_a as tool_a,
    p.tool_b as tool_b,
    p.input_hash_a as input_hash_a,
    p.input_hash_b as input_hash_b,
    p.output_hash_a as output_hash_a,
    p.output_hash_b as output_hash_b,
    p.choice_a as choice_a,
    p.choice_b as choice_b,
    p.outcome_a as outcome_a,
    p.outcome_b as outcome_b,
    p.error_a as error_a,
    p.error_b as error_b,
    p.model_a as model_a,
    p.model_b as model_b,
    p.parameters_a as parameters_a,
    p.parameters_b as parameters_b,
    p.context_hash_a as context_hash_a,
    p.context_hash_b as context_hash_b,
    p.kind_a = p.kind_b
        and p.tool_a = p.tool_b
        and p.given_hash_a = p.given_hash_b
        and p.choice_a = p.choice_b
        and p.outcome_a = p.outcome_b
        and p.error_a = p.error_b
        and p.model_a = p.model_b
        and case
            when p.kind_a = 'tool' then p.output_hash_a = p.output_hash_b
                and (p.output_hash_a <> '' or p.output_summary_a = p.output_summary_b)
            else p.output_hash_a = p.output_hash_b
                or (p.calls_a <> p.calls_b and p.reason_a = p.reason_b and p.output_summary_a = p.output_summary_b)
        end as same,
    p.context_hash_a = p.context_hash_b
        or p.context_hash_a = ''
        or p.context_hash_b = ''
        or n.times_seen > 1
        or (
            n.contexts_before > 0
            and coalesce(m.changes_a, 0) > 0
            and coalesce(m.changes_b, 0) > 0
            and coalesce(m.unlike, 0) = 0
        ) as same_context,
    p.kind_a <> 'decision'
        or p.kind_b <> 'decision'
        or (
            p.model_a = p.model_b
            and p.parameters_a = p.parameters_b
            and (p.response_model_a = p.response_model_b or p.response_model_a = '' or p.response_model_b = '')
            and (p.provider_a = p.provider_b or p.provider_a = '' or p.provider_b = '')
        ) as same_request
from paired as p
join counted as n on n.turn = p.turn and n.step = p.step
left join moved as m on m.turn = p.turn and m.step = p.step
