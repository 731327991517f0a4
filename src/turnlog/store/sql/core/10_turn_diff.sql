-- one row: an entry that differs between the state after turn a and the state after turn b
-- macro: turn_diff(p_session, p_turn_a, p_turn_b)
select
    d.kind as kind,
    d.key as key,
    case
        when d.in_before = 0 and d.in_after + d.was_restored > 0 then 'added'
        when d.in_after = 0 then 'removed'
        else 'changed'
    end as change,
    d.value_before as before_value,
    d.value_after as after_value,
    case when d.in_after = 0 and d.was_deleted = 1 then 'delete' else d.action_after end as action,
    case when d.in_after = 0 then d.turn_removed else d.turn_after end as turn,
    case when d.in_after = 0 then d.commit_removed else d.commit_after end as commit_id,
    case when d.in_after = 0 then d.tool_removed else d.tool_after end as tool
from (
    select
        u.kind as kind,
        u.key as key,
        max(u.before_side) as in_before,
        max(u.after_side) as in_after,
        max(case when u.before_side = 1 then u.value else '' end) as value_before,
        max(case when u.after_side = 1 then u.value else '' end) as value_after,
        max(u.deleted_side) as was_deleted,
        max(u.restored_side) as was_restored,
        max(u.created_side) as was_created,
        max(case when u.removed_side = 1 then u.commit_id else '' end) as commit_removed,
        max(case when u.removed_side = 1 then u.turn else 0 end) as turn_removed,
        max(case when u.removed_side = 1 then u.tool else '' end) as tool_removed,
        max(case when u.before_side = 1 then u.commit_id else '' end) as commit_before,
        max(case when u.after_side = 1 then u.commit_id else '' end) as commit_after,
        max(case when u.after_side = 1 then u.action else '' end) as action_after,
        max(case when u.after_side = 1 then u.turn else 0 end) as turn_after,
        max(case when u.after_side = 1 then u.tool else '' end) as tool_after
    -- One pass over the changes for both states: planning it costs more than running it.
    from (
        select
            r.kind as kind,
            r.key as key,
            r.value as value,
            r.commit_id as commit_id,
            r.action as action,
            r.turn as turn,
            r.tool as tool,
            case when r.op = 'set' and r.is_before = 1 and r.age_before = 1 then 1 else 0 end as before_side,
            case when r.op = 'set' and r.is_after = 1 and r.age_after = 1 then 1 else 0 end as after_side,
            case when r.op <> 'set' and r.is_before = 0 and r.age_after = 1 then 1 else 0 end as removed_side,
            case when r.kind = 'file' and r.op = 'drop' and r.is_before = 0 then 1 else 0 end as deleted_side,
            case when r.kind = 'file' and r.op = 'drop' and r.is_after = 0 then 1 else 0 end as restored_side,
            case when r.kind = 'file' and r.op <> 'drop' and r.is_before <> r.is_after then 1 else 0 end as created_side
        from (
            select
                n.kind as kind,
                n.key as key,
                n.value as value,
                n.commit_id as commit_id,
                n.action as action,
                n.turn as turn,
                n.tool as tool,
                n.op as op,
                n.is_before as is_before,
                n.is_after as is_after,
                row_number() over (partition by n.kind, n.key, n.is_before order by n.turn desc, n.changed_ns desc, n.sequence desc) as age_before,
                row_number() over (partition by n.kind, n.key, n.is_after order by n.turn desc, n.changed_ns desc, n.sequence desc) as age_after
            from (
                select
                    x.kind as kind,
                    x.key as key,
                    x.value as value,
                    x.commit_id as commit_id,
                    x.action as action,
                    x.turn as turn,
                    x.tool as tool,
                    x.op as op,
                    x.changed_ns as changed_ns,
                    x.sequence as sequence,
                    case when x.turn <= p_turn_a then 1 else 0 end as is_before,
                    case when x.turn <= p_turn_b then 1 else 0 end as is_after
                from state_changes as x
                where x.session_id = p_session
                  and x.turn <= greatest(p_turn_a, p_turn_b)
            ) as n
        ) as r
    ) as u
    group by u.kind, u.key
) as d
where d.in_before <> d.in_after
   -- A file that was there although nobody had recorded it.
   or (d.in_after = 0 and d.was_deleted + d.was_restored > 0 and d.was_created = 0)
   or d.value_before <> d.value_after
   or (d.kind = 'file' and d.commit_before <> d.commit_after)
