-- The lifecycle and the interruptions of sessions, narrow: the list of sessions must not scan spans for them.

-- one row: a lifecycle state that was said, or a pinning
create table raw.lifecycle (
    session_key integer not null,
    process_key integer not null,
    turn_id varchar not null,
    commit_id varchar not null,
    ts_ns bigint not null,
    state varchar not null,
    pause_reason varchar not null,
    pinned varchar not null
);

insert into raw.lifecycle
select
    session_key,
    process_key,
    turn_id,
    commit_id,
    end_ns,
    lifecycle_state,
    pause_reason,
    pinned
from raw.spans
where lifecycle_state <> ''
   or pinned <> '';

-- one row: a span that its process left unfinished when it died
create table raw.interrupted (
    session_key integer not null,
    commit_id varchar not null,
    started_ns bigint not null,
    died_ns bigint not null
);

insert into raw.interrupted
select
    session_key,
    commit_id,
    start_ns,
    end_ns
from raw.spans
where outcome = 'interrupted';
