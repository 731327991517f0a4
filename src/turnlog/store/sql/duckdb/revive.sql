-- A process that was taken for gone writes on (it had closed its journal): spans that it ends after all are interrupted no more.
-- `staged` holds its rows; the spans come in again with them.
create or replace temp table revived as
select
    s.session_key,
    s.commit_id,
    s.commit_kind,
    s.checkpoint_source,
    s.commit_id in (select d.commit_id from raw.doubts as d) as is_doubted
from raw.spans as s
join raw.processes as p using (process_key)
where p.gone
  and s.outcome = 'interrupted'
  and s.commit_id in (select commit_id from staged where record = 'end');

delete from raw.spans
where outcome = 'interrupted'
  and commit_id in (select commit_id from revived);

delete from raw.deltas
where commit_id in (select commit_id from revived);

delete from raw.interrupted
where commit_id in (select commit_id from revived);

delete from raw.doubts
where commit_id in (select commit_id from revived);

delete from raw.scopes
where session_key in (select session_key from revived);

insert into raw.scopes
select
    session_key,
    scope,
    count(*),
    count(*) filter (where commit_kind <> ''),
    max(end_ns)
from raw.spans
where scope <> ''
  and session_key in (select session_key from revived)
group by session_key, scope;

update raw.sessions as x
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
    from revived
    group by session_key
) as u
where x.session_key = u.session_key;
