-- one row: a decision that replaced another one about the same thing, with both reasons; back to what was chosen before that, or to something new
-- view: decision_reversals
select
    d.session_id as session_id,
    d.about as about,
    d.choice_before as choice_before,
    d.choice as choice_after,
    d.reason_before as reason_before,
    d.reason as reason_after,
    d.turn_before as turn_before,
    d.turn as turn_after,
    d.commit_before as commit_before,
    d.commit_id as commit_after,
    case when d.times_before > 0 then 1 else 0 end as is_back,
    d.decided_at as decided_at,
    d.decided_ns as decided_ns
from (
    select
        c.session_id as session_id,
        c.about as about,
        c.choice as choice,
        c.reason as reason,
        c.turn as turn,
        c.commit_id as commit_id,
        c.decided_at as decided_at,
        c.decided_ns as decided_ns,
        lag(c.choice, 1, '') over (partition by c.session_id, c.about order by c.decided_ns, c.commit_id) as choice_before,
        lag(c.reason, 1, '') over (partition by c.session_id, c.about order by c.decided_ns, c.commit_id) as reason_before,
        lag(c.turn, 1, 0) over (partition by c.session_id, c.about order by c.decided_ns, c.commit_id) as turn_before,
        lag(c.commit_id, 1, '') over (partition by c.session_id, c.about order by c.decided_ns, c.commit_id) as commit_before,
        count(*) over (
            partition by c.session_id, c.about, c.choice
            order by c.decided_ns, c.commit_id
            rows between unbounded preceding and 1 preceding
        ) as times_before
    from decisions as c
    where c.about <> ''
) as d
where d.choice_before <> ''
  and d.choice_before <> d.choice
