-- one row: an entry that differs between the state after turn a and the state after turn b
-- macro: turn_diff(p_session, p_turn_a, p_turn_b)
select
    d.kind as kind,
    d.key as key,
    case when d.in_after = 0 then 'removed' when d.in_before = 0 then 'added' else 'changed' end as change,
    d.value_before as before_value,
    d.value_after as after_value,
    case when d.in_after = 0 and d.was_deleted = 1 then 'delete' else d.action_after end as action,
    case when d.in_after = 0 then d.turn_deleted else d.turn_after end as turn,
    case when d.in_after = 0 then d.commit_deleted else d.commit_after end as commit_id,
    case when d.in_after = 0 then d.tool_deleted else d.tool_after end as tool
from (
    select
        u.kind as kind,
        u.key as key,
        max(case when u.side = 'before' then 1 else 0 end) as in_before,
        max(case when u.side = 'after' then 1 else 0 end) as in_after,
        max(case when u.side = 'before' then u.value else '' end) as value_before,
        max(case when u.side = 'after' then u.value else '' end) as value_after,
        max(case when u.side = 'deleted' then 1 else 0 end) as was_deleted,
        max(case when u.side = 'created' then 1 else 0 end) as was_created,
        max(case when u.side = 'deleted' then u.commit_id else '' end) as commit_deleted,
        max(case when u.side = 'deleted' then u.turn else 0 end) as turn_deleted,
        max(case when u.side = 'deleted' then u.tool else '' end) as tool_deleted,
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
        union all
        select
            case when x.op = 'drop' then 'deleted' else 'created' end as side,
            x.kind as kind,
            x.key as key,
            '' as value,
            x.commit_id as commit_id,
            x.action as action,
            x.turn as turn,
            x.tool as tool
        from state_changes as x
        where x.session_id = p_session
          and x.kind = 'file'
          and x.turn > p_turn_a
          and x.turn <= p_turn_b
    ) as u
    group by u.kind, u.key
) as d
where d.in_before <> d.in_after
   or (d.in_after = 0 and d.was_deleted = 1 and d.was_created = 0)
   or d.value_before <> d.value_after
   or (d.kind = 'file' and d.commit_before <> d.commit_after)
