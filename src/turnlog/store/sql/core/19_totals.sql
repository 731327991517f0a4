-- one row: what the store holds in all
-- view: totals
select
    count(*) as sessions,
    cast(coalesce(sum(s.span_count), 0) as bigint) as spans,
    cast(coalesce(sum(s.commit_count), 0) as bigint) as commits,
    cast(coalesce(sum(s.failure_count), 0) as bigint) as failures
from session_rows as s
where s.is_told
