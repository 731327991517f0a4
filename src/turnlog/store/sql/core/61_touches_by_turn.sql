-- one row: what one turn did to one file or source, by its last action there
-- macro: touches_by_turn(p_session, p_last_turns)
select
    w.kind as kind,
    w.key as key,
    w.touched_in_turn as turn,
    w.action as action,
    w.evidence as evidence,
    w.touches as touches
from (
    select
        e.kind as kind,
        e.key as key,
        e.action as action,
        e.evidence as evidence,
        e.turn as touched_in_turn,
        count(*) over (partition by e.kind, e.key, e.turn) as touches,
        -- Of a turn, what changes counts for more than what reads.
        row_number() over (
            partition by e.kind, e.key, e.turn
            order by case when e.action in ('read', 'list') then 1 else 0 end, e.changed_ns desc, e.sequence desc
        ) as place
    from entries as e
    where e.session_id = p_session
      and e.kind in ('file', 'source')
      and e.op <> 'evict'
      and e.turn > (select coalesce(max(t.turn), 0) from turn_numbers as t where t.session_id = p_session) - p_last_turns
) as w
where w.place = 1
