-- one row: something that is not done yet: a pending entry, or a call that still runs
-- view: pending_actions
select
    p.session_id as session_id,
    p.turn as turn,
    'pending' as status,
    p.key as action_id,
    p.value as action,
    p.commit_id as commit_id
from state as p
where p.kind = 'pending'
union all
select
    c.session_id as session_id,
    c.turn as turn,
    'in_flight' as status,
    c.commit_id as action_id,
    case when c.tool <> '' then c.tool else c.kind end as action,
    c.commit_id as commit_id
from commits as c
where c.outcome = 'in_flight'
