-- Who claimed a session as its one writer, and whose later commits in it do not count: narrow, because it is asked of every commit.
alter table raw.spans add column lease_epoch bigint default 0;
alter table raw.spans add column lease_holder varchar default '';
alter table raw.open_spans add column lease_epoch bigint default 0;
alter table raw.open_spans add column lease_holder varchar default '';

-- one row: a claim, or a fencing (epoch 0 when nobody claims with it)
create table raw.leases (
    session_key integer not null,
    process_key integer not null,
    turn_id varchar not null,
    commit_id varchar not null,
    ts_ns bigint not null,
    epoch bigint not null,
    holder varchar not null,
    fences varchar[] not null
);

-- one row: a span that does not count, because another writer had taken its session over
create table raw.fenced (
    session_key integer not null,
    commit_id varchar not null
);
