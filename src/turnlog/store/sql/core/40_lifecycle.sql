-- one row: a lifecycle state that was said or a pinning, and whether it took effect: applied, unchanged or refused
-- view: lifecycle
select
    l.session_id as session_id,
    coalesce(t.turn, 0) as turn,
    l.changed_at as changed_at,
    l.state as state,
    l.previous_state as previous_state,
    l.pause_reason as reason,
    l.pinned as pinned,
    l.effect as effect,
    l.commit_id as commit_id,
    l.ts_ns as changed_ns
from lifecycle_rows as l
left join turn_numbers as t on t.session_id = l.session_id and t.turn_id = l.turn_id
