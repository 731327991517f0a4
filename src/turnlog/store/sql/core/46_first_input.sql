-- one row: what the session was first asked: in short, and the message that says it whole where a model got it
-- macro: first_input(p_session)
select
    f.turn as turn,
    f.said as summary,
    coalesce(m.digest, '') as message_hash
from (
    select
        t.turn as turn,
        t.input_summary as said,
        row_number() over (order by t.turn) as age
    from turns as t
    where t.session_id = p_session
      and t.input_summary <> ''
) as f
left join (
    select
        c.added_turn as in_turn,
        c.message_hash as digest,
        row_number() over (partition by c.added_turn order by c.added_ns, c.position desc) as age
    from context_messages as c
    where c.session_id = p_session
      and c.role = 'user'
) as m on m.in_turn = f.turn and m.age = 1
where f.age = 1
