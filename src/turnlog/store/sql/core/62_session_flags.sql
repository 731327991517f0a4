-- one row: a session of which something left a context, or which has inputs that nobody verified
-- view: session_flags
select
    s.session_id as session_id,
    s.eviction_count as evictions,
    s.doubt_count - coalesce(v.verified_count, 0) as unverified
from session_rows as s
left join (
    select
        u.session_id as session_id,
        count(*) as verified_count
    from (
        select
            d.session_id as session_id,
            d.commit_id as commit_id
        from doubt_rows as d
        where d.commit_id in (select c.checked from check_rows as c)
        union distinct
        select
            d.session_id as session_id,
            d.commit_id as commit_id
        from doubt_rows as d
        where d.content_hash in (select c.checked from check_rows as c)
    ) as u
    group by u.session_id
) as v on v.session_id = s.session_id
where s.eviction_count > 0
   or s.doubt_count > coalesce(v.verified_count, 0)
