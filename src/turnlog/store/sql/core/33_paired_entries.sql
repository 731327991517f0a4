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
            e.side as side,
            e.kind as kind,
            e.key as key,
            e.op as op,
            case when e.op = 'set' then e.value else '' end as value,
            e.commit_id as commit_id,
            e.tool as tool,
            -- What was made here and is gone again was never there; what only left a context is for `evictions` to tell.
            first_value(case when e.op = 'set' and (e.kind <> 'file' or e.action = 'create') then 1 else 0 end) over (
                partition by e.side, e.kind, e.key
                order by e.turn, e.changed_ns, e.sequence
            ) as is_made_here,
            row_number() over (partition by e.side, e.kind, e.key order by e.turn desc, e.changed_ns desc, e.sequence desc) as age
        -- Each session by itself: the rows of two may lie far apart, and all between them would be read.
        from (
            select
                'a' as side,
                x.kind as kind,
                x.key as key,
                x.op as op,
                x.value as value,
                x.action as action,
                x.commit_id as commit_id,
                x.tool as tool,
                x.turn as turn,
                x.changed_ns as changed_ns,
                x.sequence as sequence
            from state_changes as x
            where x.session_id = p_session_a
              and (p_turn_a = 0 or x.turn = p_turn_a)
              and (
                x.kind <> 'decision'
                or x.commit_id not in (
                    select c.commit_id
                    from decisions as c
                    where c.session_id = p_session_a
                      and c.about = ''
                )
              )
            union all
            select
                'b' as side,
                y.kind as kind,
                y.key as key,
                y.op as op,
                y.value as value,
                y.action as action,
                y.commit_id as commit_id,
                y.tool as tool,
                y.turn as turn,
                y.changed_ns as changed_ns,
                y.sequence as sequence
            from state_changes as y
            where y.session_id = p_session_b
              and (p_turn_b = 0 or y.turn = p_turn_b)
              and (
                y.kind <> 'decision'
                or y.commit_id not in (
                    select d.commit_id
                    from decisions as d
                    where d.session_id = p_session_b
                      and d.about = ''
                )
              )
        ) as e
    ) as l
    where l.age = 1
      and (l.op = 'set' or (l.op = 'drop' and l.is_made_here = 0))
    group by l.kind, l.key
) as d
where d.last_op_a <> d.last_op_b
   or d.value_of_a <> d.value_of_b
