-- one row: an entry that came out differently of two turns, or of two sessions where both turns are 0; what only b has is added, a model's choice of tools is no entry here
-- macro: paired_entries(p_session_a, p_turn_a, p_session_b, p_turn_b)
select
    d.kind as kind,
    d.key as key,
    case when d.last_op_a = '' then 'added' when d.last_op_b = '' then 'removed' else 'changed' end as change,
    d.last_op_a as op_a,
    d.last_op_b as op_b,
    d.value_of_a as value_a,
    d.value_of_b as value_b,
    d.commit_of_a as commit_a,
    d.commit_of_b as commit_b,
    d.tool_of_a as tool_a,
    d.tool_of_b as tool_b
from (
    select
        l.kind as kind,
        l.key as key,
        max(case when l.side = 'a' then l.op else '' end) as last_op_a,
        max(case when l.side = 'b' then l.op else '' end) as last_op_b,
        max(case when l.side = 'a' then l.value else '' end) as value_of_a,
        max(case when l.side = 'b' then l.value else '' end) as value_of_b,
        max(case when l.side = 'a' then l.commit_id else '' end) as commit_of_a,
        max(case when l.side = 'b' then l.commit_id else '' end) as commit_of_b,
        max(case when l.side = 'a' then l.tool else '' end) as tool_of_a,
        max(case when l.side = 'b' then l.tool else '' end) as tool_of_b
    from (
        select
            w.side as side,
            e.kind as kind,
            e.key as key,
            e.op as op,
            case when e.op = 'set' then e.value else '' end as value,
            e.commit_id as commit_id,
            e.tool as tool,
            -- What was made here and is gone again was never there; what only left a context is for `evictions` to tell.
            first_value(case when e.op = 'set' and (e.kind <> 'file' or e.action = 'create') then 1 else 0 end) over (
                partition by w.side, e.kind, e.key
                order by e.turn, e.changed_ns, e.sequence
            ) as is_made_here,
            row_number() over (partition by w.side, e.kind, e.key order by e.turn desc, e.changed_ns desc, e.sequence desc) as age
        from state_changes as e
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
        ) as w on w.of_session = e.session_id and (w.of_turn = 0 or w.of_turn = e.turn)
        where e.session_id in (p_session_a, p_session_b)
          and (
            e.kind <> 'decision'
            or e.commit_id not in (
                select c.commit_id
                from decisions as c
                where c.session_id in (p_session_a, p_session_b)
                  and c.about = ''
            )
          )
    ) as l
    where l.age = 1
      and (l.op = 'set' or (l.op = 'drop' and l.is_made_here = 0))
    group by l.kind, l.key
) as d
where d.last_op_a <> d.last_op_b
   or d.value_of_a <> d.value_of_b
