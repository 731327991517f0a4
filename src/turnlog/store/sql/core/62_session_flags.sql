-- one row: a session of which something left a context, or which has inputs that nobody verified
-- view: session_flags
select
    f.session_id as session_id,
    cast(sum(f.evicted) as bigint) as evictions,
    cast(sum(f.doubtful) as bigint) as unverified
from (
    select
        s.session_id as session_id,
        1 as evicted,
        0 as doubtful
    from span_rows as s
    where s.commit_kind = 'eviction'
    union all
    select
        u.session_id as session_id,
        0 as evicted,
        1 as doubtful
    from sources as u
    where u.verified = 'false'
) as f
group by f.session_id
