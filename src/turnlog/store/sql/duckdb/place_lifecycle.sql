-- Lifecycle and state commits that were made outside every turn (from the command line, from a process that ran no turn) get the session's turn
-- of that time. Before the first turn there is none.
update staged
set turn_id = p.turn_id
from (
    select
        s.commit_id as placed_id,
        arg_max(t.turn_id, t.began_ns) as turn_id
    from staged as s
    join (
        select
            x.session_id,
            k.turn_id,
            min(k.first_ns) as began_ns
        from known_turns as k
        join known_sessions as x using (session_key)
        where x.session_id in (select session_id from staged where commit_kind in ('lifecycle', 'state') and turn_id = '' and not carried)
        group by x.session_id, k.turn_id
        union all
        select
            session_id,
            turn_id,
            min(start_ns)
        from staged
        where turn_id <> ''
        group by session_id, turn_id
    ) as t using (session_id)
    where s.commit_kind in ('lifecycle', 'state')
      and s.turn_id = ''
      and not s.carried
      and t.began_ns <= s.start_ns
    group by s.commit_id
) as p
where commit_id = p.placed_id;
