-- What a reader sees: the loaded rows of `store` and the journals' unloaded tail, one relation per table.
create schema raw;

create view raw.sessions as
select
    session_key,
    session_id,
    min(first_ns) as first_ns,
    max(last_ns) as last_ns,
    sum(span_count)::bigint as span_count,
    sum(commit_count)::bigint as commit_count,
    sum(failure_count)::bigint as failure_count,
    sum(input_tokens)::bigint as input_tokens,
    sum(output_tokens)::bigint as output_tokens,
    max(agent) as agent,
    sum(eviction_count)::bigint as eviction_count,
    sum(doubt_count)::bigint as doubt_count
from (
    from store.raw.sessions
    union all
    from tail.raw.sessions
)
group by session_key, session_id;

create view raw.processes as
from store.raw.processes
union all
from tail.raw.processes
where process_key not in (select process_key from store.raw.processes);

create view raw.spans as
from store.raw.spans
union all
from tail.raw.spans;

create view raw.open_spans as
select *
from store.raw.open_spans
where commit_id not in (select commit_id from tail.raw.spans)
union all
from tail.raw.open_spans;

create view raw.turns as
from store.raw.turns
union all
from tail.raw.turns;

create view raw.deltas as
from store.raw.deltas
union all
from tail.raw.deltas;

create view raw.context_changes as
from store.raw.context_changes
union all
from tail.raw.context_changes;

create view raw.lifecycle as
from store.raw.lifecycle
union all
from tail.raw.lifecycle;

create view raw.leases as
from store.raw.leases
union all
from tail.raw.leases;

create table raw.fenced as
from store.raw.fenced;

create view raw.interrupted as
from store.raw.interrupted
where commit_id not in (select commit_id from tail.raw.spans)
union all
from tail.raw.interrupted;

create view raw.scopes as
from store.raw.scopes
union all
from tail.raw.scopes;

create view raw.doubts as
from store.raw.doubts
where commit_id not in (select commit_id from tail.raw.spans)
union all
from tail.raw.doubts;

create view raw.checks as
from store.raw.checks
union all
from tail.raw.checks;

create view raw.blobs as
from store.raw.blobs
union all
select *
from tail.raw.blobs
where hash not in (select hash from store.raw.blobs);

create view raw.losses as
from store.raw.losses
union all
from tail.raw.losses;
