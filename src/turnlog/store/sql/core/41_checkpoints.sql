-- one row: a checkpoint that a framework saved of its state, the one that it goes on from, and whether that is a fork
-- view: checkpoints
select
    k.session_id as session_id,
    k.turn as turn,
    k.checkpoint_id as checkpoint_id,
    k.checkpoint_source as source,
    k.checkpoint_parent as parent_id,
    coalesce(p.turn, 0) as parent_turn,
    coalesce(p.commit_id, '') as parent_commit,
    case when k.checkpoint_source = 'fork' or (k.checkpoint_parent <> '' and k.nth_child > 1) then 1 else 0 end as is_fork,
    k.summary as summary,
    k.commit_id as commit_id,
    k.saved_ns as saved_ns
from (
    select
        c.session_id as session_id,
        c.turn as turn,
        c.checkpoint_id as checkpoint_id,
        c.checkpoint_source as checkpoint_source,
        c.checkpoint_parent as checkpoint_parent,
        c.input_summary as summary,
        c.commit_id as commit_id,
        c.ended_ns as saved_ns,
        row_number() over (partition by c.session_id, c.checkpoint_parent order by c.ended_ns, c.sequence, c.commit_id) as nth_child
    from commits as c
    where c.checkpoint_id <> ''
) as k
left join (
    select
        o.session_id as session_id,
        o.checkpoint_id as checkpoint_id,
        min(o.turn) as turn,
        min(o.commit_id) as commit_id
    from commits as o
    where o.checkpoint_id <> ''
    group by o.session_id, o.checkpoint_id
) as p on p.session_id = k.session_id and p.checkpoint_id = k.checkpoint_parent
