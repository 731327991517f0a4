-- one row: an entry that differs between the state after turn a and the state after turn b
-- macro: turn_diff(p_session, p_turn_a, p_turn_b)
select
    d.kind as kind,
    d.key as key,
    case when d.in_before = 0 then 'added' when d.in_after = 0 then 'removed' else 'changed' end as change,
    d.value_before as before_value,
    d.value_after as after_value,
    d.action_after as action,
    d.turn_after as turn,
    d.commit_after as commit_id,
    d.tool_after as tool
from (
    select
        u.kind as kind,
        u.key as key,
        max(case when u.side = 'before' then 1 else 0 end) as in_before,
        max(case when u.side = 'after' then 1 else 0 end) as in_after,
        max(case when u.side = 'before' then u.value else '' end) as value_before,
        max(case when u.side = 'after' then u.value else '' end) as value_after,
        max(case when u.side = 'before' then u.commit_id else '' end) as commit_before,
        max(case when u.side = 'after' then u.commit_id else '' end) as commit_after,
        max(case when u.side = 'after' then u.action else '' end) as action_after,
        max(case when u.side = 'after' then u.turn else 0 end) as turn_after,
        max(case when u.side = 'after' then u.tool else '' end) as tool_after
    from (
        select
            'before' as side,
            b.kind as kind,
            b.key as key,
            b.value as value,
            b.commit_id as commit_id,
            b.action as action,
            b.turn as turn,
            b.tool as tool
        from state_at(p_session, p_turn_a) as b
        union all
        select
            'after' as side,
            a.kind as kind,
            a.key as key,
            a.value as value,
            a.commit_id as commit_id,
            a.action as action,
            a.turn as turn,
            a.tool as tool
        from state_at(p_session, p_turn_b) as a
    ) as u
    group by u.kind, u.key
) as d
where d.in_before <> d.in_after
   or d.value_before <> d.value_after
   or (d.kind = 'file' and d.commit_before <> d.commit_after)
