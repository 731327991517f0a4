-- What the list of sessions and the health of the store are asked for, of the spans that have just come in: `ended`.
create or replace temp table met_scopes as
select
    session_key,
    scope,
    count(*) as span_count,
    count(*) filter (where commit_kind <> '') as commit_count,
    max(end_ns) as last_ns
from ended
where scope <> ''
group by session_key, scope;

update raw.scopes as x
set
    span_count = x.span_count + u.span_count,
    commit_count = x.commit_count + u.commit_count,
    last_ns = greatest(x.last_ns, u.last_ns)
from met_scopes as u
where x.session_key = u.session_key
  and x.scope = u.scope;

insert into raw.scopes
select *
from met_scopes
where (session_key, scope) not in (select (x.session_key, x.scope) from raw.scopes as x)
order by session_key, scope;

create or replace temp table met_doubts as
select
    session_key,
    commit_id,
    output_hash
from ended
where verified = 'false'
  and turn_id <> ''
  and (commit_kind = 'tool' or (commit_kind = 'decision' and operation <> ''));

insert into raw.doubts
select *
from met_doubts
order by session_key;

update raw.sessions as x
set
    eviction_count = x.eviction_count + u.evictions,
    doubt_count = x.doubt_count + u.doubts
from (
    select
        session_key,
        count(*) filter (where is_eviction) as evictions,
        count(*) filter (where not is_eviction) as doubts
    from (
        select
            session_key,
            true as is_eviction
        from ended
        where commit_kind = 'eviction'
        union all
        select
            session_key,
            false as is_eviction
        from met_doubts
    )
    group by session_key
) as u
where x.session_key = u.session_key;
