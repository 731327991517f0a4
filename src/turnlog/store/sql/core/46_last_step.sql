-- one row: the last that a session did: a call, a decision, a note, or a run that broke off
-- macro: last_step(p_session)
select
    l.turn as turn,
    l.commit_id as commit_id,
    l.stopped_at as stopped_at,
    l.kind as kind,
    l.tool as tool,
    l.outcome as outcome,
    l.error_message as error_message,
    l.choice as choice,
    l.input_summary as input_summary,
    l.output_summary as output_summary
from (
    select
        c.turn as turn,
        c.commit_id as commit_id,
        c.committed_at as stopped_at,
        c.kind as kind,
        c.tool as tool,
        c.outcome as outcome,
        c.error_message as error_message,
        c.choice as choice,
        c.input_summary as input_summary,
        c.output_summary as output_summary,
        row_number() over (
            order by c.turn desc, case when c.outcome = 'in_flight' then 0 else 1 end, c.ended_ns desc, c.sequence desc
        ) as age
    from commits as c
    where c.session_id = p_session
      and c.fenced = ''
      and (c.kind in ('tool', 'decision', 'note') or (c.kind = 'lifecycle' and c.outcome <> 'ok'))
) as l
where l.age = 1
