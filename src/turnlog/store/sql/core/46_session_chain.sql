-- one row: a session, or one whose work it goes on with, however far back
-- macro: session_chain(p_session)
with recursive chain as (
    select
        p_session as session_id,
        0 as steps_back
    union all
    select
        n.previous_id as session_id,
        c.steps_back + 1 as steps_back
    from chain as c
    join continued_sessions as n on n.session_id = c.session_id
    where c.steps_back < 64
)
select
    h.session_id as session_id,
    h.steps_back as steps_back
from chain as h
