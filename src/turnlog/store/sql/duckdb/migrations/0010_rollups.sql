-- What the list of sessions and the health of the store are asked for, narrow: neither may scan spans or entries for it.
alter table raw.sessions add column eviction_count bigint default 0;
alter table raw.sessions add column doubt_count bigint default 0;

-- one row: an instrumentation scope in a session, with how many of its spans have ended
create table raw.scopes (
    session_key integer not null,
    scope varchar not null,
    span_count bigint not null,
    commit_count bigint not null,
    last_ns bigint not null
);

insert into raw.scopes
select
    session_key,
    scope,
    count(*),
    count(*) filter (where commit_kind <> ''),
    max(end_ns)
from raw.spans
where scope <> ''
group by session_key, scope
order by session_key, scope;

-- one row: an input that was unverified when it came in
create table raw.doubts (
    session_key integer not null,
    commit_id varchar not null,
    content_hash varchar not null
);

insert into raw.doubts
select
    session_key,
    commit_id,
    output_hash
from raw.spans
where verified = 'false'
  and turn_id <> ''
  and (commit_kind = 'tool' or (commit_kind = 'decision' and operation <> ''))
order by session_key;

update raw.sessions as x
set
    eviction_count = u.evictions,
    doubt_count = u.doubts
from (
    select
        session_key,
        count(*) filter (where is_eviction) as evictions,
        count(*) filter (where not is_eviction) as doubts
    from (
        select
            session_key,
            true as is_eviction
        from raw.spans
        where commit_kind = 'eviction'
        union all
        select
            session_key,
            false as is_eviction
        from raw.doubts
    )
    group by session_key
) as u
where x.session_key = u.session_key;

-- one row: a commit or a content that somebody has checked
create table raw.checks (
    session_key integer not null,
    checked varchar not null,
    said varchar not null
);

insert into raw.checks
select
    session_key,
    key,
    value
from raw.deltas
where kind = 'source'
  and action = 'verify'
  and op = 'set'
order by session_key;
