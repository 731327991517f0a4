-- one row: an instrumentation whose spans are here (its scope), with how many there are and how many of them are commits
-- view: scopes
select
    r.scope as scope,
    cast(sum(r.span_count) as bigint) as spans,
    cast(sum(r.commit_count) as bigint) as commits,
    max(r.last_at) as last_at
from scope_rows as r
group by r.scope
