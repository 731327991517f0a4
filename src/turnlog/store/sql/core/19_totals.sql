-- one row: what the store holds in all
-- view: totals
select
    count(*) as sessions,
    cast(coalesce(sum(s.spans), 0) as bigint) as spans,
    cast(coalesce(sum(s.commits), 0) as bigint) as commits,
    cast(coalesce(sum(s.failures), 0) as bigint) as failures
from sessions as s
