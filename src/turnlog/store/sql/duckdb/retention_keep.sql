-- What the new file gets of each table that is not simply copied without the sessions that go. In the order of the old file, which
-- zone maps live on: one thread, and nothing here but filters.
create or replace temp view gone_sessions as
select session_key
from doomed
where not keeps_durable;

create or replace temp view stripped_sessions as
select session_key
from doomed
where keeps_durable;

create or replace temp view kept_spans as
select
    * replace (
        case when session_key in (from stripped_sessions) then '{}' else attributes end as attributes,
        case when session_key in (from stripped_sessions) then '[]' else events end as events,
        case when session_key in (from stripped_sessions) then '[]' else delta end as delta,
        case when session_key in (from stripped_sessions) then '' else input_summary end as input_summary,
        case when session_key in (from stripped_sessions) then '' else output_summary end as output_summary,
        case when session_key in (from stripped_sessions) then '' else status_message end as status_message,
        case when session_key in (from stripped_sessions) then '' else turn_input end as turn_input,
        case when session_key in (from stripped_sessions) then '' else turn_output end as turn_output
    )
from store.raw.spans
where session_key not in (from gone_sessions);

create or replace temp view kept_deltas as
from store.raw.deltas
where session_key not in (from gone_sessions)
  and (tier <> 'transient' or session_key not in (from stripped_sessions));

create or replace temp view kept_context_changes as
from store.raw.context_changes
where session_key not in (from gone_sessions)
  and session_key not in (from stripped_sessions);

create or replace temp view kept_blobs as
from store.raw.blobs
where hash not in (select hash from doomed_blobs);

create or replace temp view kept_processes as
from store.raw.processes
where not gone
   or process_key in (
    select process_key
    from store.raw.spans
    where session_key not in (from gone_sessions)
    union all
    select process_key
    from store.raw.losses
   );
