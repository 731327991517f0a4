-- The tables below `raw`. Rows are clustered by a small integer session key in first-seen order, which zone maps prune on;
-- there is no primary key and no index, because the loader guarantees uniqueness and ART indexes slow it down without helping.
create schema raw;

-- one row: a session, with the totals that the list of sessions shows
create table raw.sessions (
    session_key integer not null,
    session_id varchar not null,
    first_ns bigint not null,
    last_ns bigint not null,
    span_count bigint not null,
    commit_count bigint not null,
    failure_count bigint not null,
    input_tokens bigint not null,
    output_tokens bigint not null,
    agent varchar not null
);

-- one row: a process that wrote journals
create table raw.processes (
    process_key integer not null,
    process_id varchar not null,
    host varchar not null,
    pid bigint not null,
    first_ns bigint not null,
    gone boolean not null,
    resource varchar not null
);

-- one row: a span that has ended, or that its process left unfinished (outcome interrupted)
create table raw.spans (
    session_key integer not null,
    process_key integer not null,
    turn_id varchar not null,
    commit_id varchar not null,
    trace_id varchar not null,
    span_id varchar not null,
    parent_id varchar not null,
    name varchar not null,
    span_kind varchar not null,
    start_ns bigint not null,
    end_ns bigint not null,
    status varchar not null,
    status_message varchar not null,
    scope varchar not null,
    turn_input_hash varchar not null,
    turn_input varchar not null,
    operation varchar not null,
    agent varchar not null,
    provider varchar not null,
    request_model varchar not null,
    response_model varchar not null,
    response_id varchar not null,
    conversation_id varchar not null,
    tool varchar not null,
    tool_call_id varchar not null,
    input_tokens bigint not null,
    output_tokens bigint not null,
    cached_tokens bigint not null,
    reasoning_tokens bigint not null,
    error_type varchar not null,
    commit_kind varchar not null,
    commit_sequence bigint not null,
    input_hash varchar not null,
    input_summary varchar not null,
    output_hash varchar not null,
    output_summary varchar not null,
    outcome varchar not null,
    delta varchar not null,
    decision_id varchar not null,
    decision_about varchar not null,
    choice varchar not null,
    reason varchar not null,
    reason_source varchar not null,
    alternatives varchar not null,
    attributes varchar not null,
    links varchar not null,
    events varchar not null
);

-- one row: a span that has started and not ended yet
create table raw.open_spans as from raw.spans limit 0;

-- one row: what one load saw of one turn; a turn that several loads met has several rows
create table raw.turns (
    session_key integer not null,
    turn_id varchar not null,
    first_ns bigint not null,
    last_ns bigint not null
);

-- one row: one operation on one entry, in the order (ts_ns, sequence)
create table raw.deltas (
    session_key integer not null,
    turn_id varchar not null,
    commit_id varchar not null,
    ts_ns bigint not null,
    sequence bigint not null,
    tool varchar not null,
    op varchar not null,
    kind varchar not null,
    key varchar not null,
    value varchar not null,
    tier varchar not null,
    action varchar not null,
    evidence varchar not null
);

-- one row: captured content, once under its hash
create table raw.blobs (
    hash varchar not null,
    text varchar not null,
    first_ns bigint not null
);

-- one row: something that could not be kept, and how much of it
create table raw.losses (
    process_key integer not null,
    at_ns bigint not null,
    reason varchar not null,
    lost bigint not null
);

-- one row: how far a journal has been loaded
create table raw.journals (
    journal varchar not null,
    process_id varchar not null,
    read_to bigint not null
);
