-- one row: a call that failed and has not been made again with success
-- view: unresolved_failures
select
    f.commit_id as commit_id,
    f.committed_at as failed_at,
    f.session_id as session_id,
    f.turn as turn,
    f.kind as kind,
    f.tool as tool,
    f.outcome as outcome,
    f.error as error,
    f.error_message as error_message,
    f.input_hash as input_hash,
    f.input_summary as input_summary,
    f.duration_ms as duration_ms,
    f.ended_ns as failed_ns
from (
    select
        c.commit_id as commit_id,
        c.committed_at as committed_at,
        c.session_id as session_id,
        c.turn as turn,
        c.kind as kind,
        c.tool as tool,
        c.outcome as outcome,
        c.error as error,
        c.error_message as error_message,
        c.input_hash as input_hash,
        c.input_summary as input_summary,
        c.duration_ms as duration_ms,
        c.ended_ns as ended_ns,
        -- A model that answers again has got over its failure; a tool has for the same input only.
        row_number() over (
            partition by c.session_id, c.kind, c.tool, case when c.kind = 'decision' then '' else c.input_hash end
            order by c.ended_ns desc, c.sequence desc
        ) as age
    from commits as c
    where c.outcome <> 'in_flight'
      and c.fenced = ''
) as f
where f.age = 1
  and f.outcome <> 'ok'
