-- one row: a claim of a session by one writer, and from which processes it was taken over
-- view: leases
select
    l.session_id as session_id,
    l.epoch as epoch,
    min(l.claimed_at) as since,
    max(case when l.is_last = 1 then l.holder else '' end) as holder,
    max(case when l.is_last = 1 then l.host else '' end) as host,
    max(case when l.is_last = 1 then l.pid else 0 end) as pid,
    max(l.taken_from) as taken_from,
    min(l.ts_ns) as since_ns
from (
    select
        r.session_id as session_id,
        r.epoch as epoch,
        r.claimed_at as claimed_at,
        r.holder as holder,
        r.host as host,
        r.pid as pid,
        r.taken_from as taken_from,
        r.ts_ns as ts_ns,
        -- `turnlog run` claims before the program starts, which then says who it is.
        case when row_number() over (partition by r.session_id, r.epoch order by r.ts_ns desc, r.commit_id) = 1 then 1 else 0 end as is_last
    from lease_rows as r
) as l
group by l.session_id, l.epoch
