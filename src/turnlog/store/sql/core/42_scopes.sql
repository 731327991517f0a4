-- one row: an instrumentation whose spans are here (its scope), with how many there are and how many of them are commits
-- view: scopes
select
    s.scope as scope,
    count(*) as spans,
    cast(sum(case when s.commit_kind <> '' then 1 else 0 end) as bigint) as commits,
    max(s.ended_at) as last_at
from span_rows as s
where s.scope <> ''
group by s.scope
