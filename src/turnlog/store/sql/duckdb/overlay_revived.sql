-- What a reader sees when a process that was taken for gone writes on: spans that it ended after all are interrupted no more.
create table raw.revived as
select
    session_key,
    commit_id,
    commit_kind,
    checkpoint_source,
    commit_id in (select d.commit_id from store.raw.doubts as d) as is_doubted
from store.raw.spans
where outcome = 'interrupted'
  and commit_id in (select t.commit_id from tail.raw.spans as t);

create or replace view raw.spans as
select *
from store.raw.spans
where commit_id not in (select commit_id from raw.revived)
union all
from tail.raw.spans;

create or replace view raw.scopes as
from store.raw.scopes
where session_key not in (select session_key from raw.revived)
union all
from tail.raw.scopes
where session_key not in (select session_key from raw.revived)
union all
select
    session_key,
    scope,
    count(*),
    count(*) filter (where commit_kind <> ''),
    max(end_ns)
from raw.spans
where scope <> ''
  and session_key in (select session_key from raw.revived)
group by session_key, scope;

update tail.raw.sessions as x
set
    span_count = x.span_count - u.spans,
    commit_count = x.commit_count - u.commits,
    failure_count = x.failure_count - u.failures,
    doubt_count = x.doubt_count - u.doubts
from (
    select
        session_key,
        count(*) as spans,
        count(*) filter (where commit_kind <> '' and checkpoint_source not in ('input', 'step')) as commits,
        count(*) filter (where commit_kind <> '') as failures,
        count(*) filter (where is_doubted) as doubts
    from raw.revived
    group by session_key
) as u
where x.session_key = u.session_key;
