-- What lineage, provenance, retries and the lifecycle add to spans, and the contexts that model calls saw.
alter table raw.spans add column calls varchar default '[]';
alter table raw.spans add column outcome_source varchar default '';
alter table raw.spans add column turn_prefix_hash varchar default '';
alter table raw.spans add column lineage varchar default '';
alter table raw.spans add column context_hash varchar default '';
alter table raw.spans add column message_count bigint default 0;
alter table raw.spans add column source_kind varchar default '';
alter table raw.spans add column verified varchar default '';
alter table raw.spans add column retry_of varchar default '';
alter table raw.spans add column attempt bigint default 0;
alter table raw.spans add column lifecycle_state varchar default '';
alter table raw.spans add column pause_reason varchar default '';
alter table raw.spans add column pinned varchar default '';
alter table raw.open_spans add column calls varchar default '[]';
alter table raw.open_spans add column outcome_source varchar default '';
alter table raw.open_spans add column turn_prefix_hash varchar default '';
alter table raw.open_spans add column lineage varchar default '';
alter table raw.open_spans add column context_hash varchar default '';
alter table raw.open_spans add column message_count bigint default 0;
alter table raw.open_spans add column source_kind varchar default '';
alter table raw.open_spans add column verified varchar default '';
alter table raw.open_spans add column retry_of varchar default '';
alter table raw.open_spans add column attempt bigint default 0;
alter table raw.open_spans add column lifecycle_state varchar default '';
alter table raw.open_spans add column pause_reason varchar default '';
alter table raw.open_spans add column pinned varchar default '';
alter table raw.deltas add column renamed_from varchar default '';

-- one row: a message that a model call's context has more (`add`) or less (`evict`) than the one before in its lineage
create table raw.context_changes (
    session_key integer not null,
    process_key integer not null,
    turn_id varchar not null,
    commit_id varchar not null,
    lineage varchar not null,
    ts_ns bigint not null,
    op varchar not null,
    position bigint not null,
    message_hash varchar not null,
    role varchar not null,
    tool_call_id varchar not null,
    origin_span_id varchar not null,
    summary varchar not null,
    entry_keys varchar[] not null
);
