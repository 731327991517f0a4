-- one row: a message with which a conversation goes on after a turn: what its last model call saw, what that answered, and what came of each call that it asked for
-- macro: conversation(p_session, p_turn)
with last_call as (
    select
        c.commit_id as commit_id,
        c.started_ns as started_ns,
        c.output_hash as answer_hash
    from commits as c
    where c.session_id = p_session
      and c.commit_id in (select x.commit_id from context_at(p_session, p_turn) as x)
)
select
    0 as part,
    m.position as position,
    m.role as role,
    m.message_hash as content_hash,
    m.tool_call_id as tool_call_id,
    m.tool as tool,
    'ok' as outcome,
    '' as error_message
from context_at(p_session, p_turn) as m
union all
select
    1 as part,
    cast(1 as bigint) as position,
    'assistant' as role,
    l.answer_hash as content_hash,
    '' as tool_call_id,
    '' as tool,
    'ok' as outcome,
    '' as error_message
from last_call as l
where l.answer_hash <> ''
union all
select
    2 as part,
    a.call_position as position,
    'tool' as role,
    coalesce(t.output_hash, '') as content_hash,
    a.tool_call_id as tool_call_id,
    a.asked_tool as tool,
    coalesce(t.outcome, 'queued') as outcome,
    coalesce(t.error_message, '') as error_message
from asked_call_rows as a
join last_call as l on l.commit_id = a.commit_id
left join (
    select
        c.tool_call_id as tool_call_id,
        c.output_hash as output_hash,
        c.outcome as outcome,
        case when c.error_message <> '' then c.error_message else c.error end as error_message,
        row_number() over (partition by c.tool_call_id order by c.started_ns desc, c.commit_id) as age
    from commits as c
    join last_call as l on c.started_ns >= l.started_ns
    where c.session_id = p_session
      and c.kind = 'tool'
) as t on t.tool_call_id = a.tool_call_id and t.age = 1
where a.session_id = p_session
