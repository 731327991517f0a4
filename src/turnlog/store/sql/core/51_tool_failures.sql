-- one row: an input with which a tool failed, over all sessions but replays, beside how often the same call was made
-- view: tool_failures
select
    c.tool as tool,
    c.input_hash as input_hash,
    max(c.input_summary) as input_summary,
    count(*) as calls,
    cast(sum(c.failed) as bigint) as failures,
    count(distinct c.session_id) as sessions,
    max(case when c.failed = 1 and c.place = 1 then c.outcome else '' end) as last_outcome,
    max(case when c.failed = 1 and c.place = 1 then c.error else '' end) as last_error,
    max(case when c.failed = 1 and c.place = 1 then c.error_message else '' end) as last_message,
    max(case when c.failed = 1 and c.place = 1 then c.commit_id else '' end) as last_commit,
    max(c.committed_at) filter (where c.failed = 1) as last_at
from (
    select
        f.tool as tool,
        f.input_hash as input_hash,
        f.input_summary as input_summary,
        f.session_id as session_id,
        f.commit_id as commit_id,
        f.outcome as outcome,
        f.error as error,
        f.error_message as error_message,
        f.committed_at as committed_at,
        f.failed as failed,
        row_number() over (partition by f.tool, f.input_hash, f.failed order by f.ended_ns desc, f.commit_id) as place
    from (
        select
            m.tool as tool,
            m.input_hash as input_hash,
            m.input_summary as input_summary,
            m.session_id as session_id,
            m.commit_id as commit_id,
            m.outcome as outcome,
            m.error as error,
            m.error_message as error_message,
            m.committed_at as committed_at,
            m.ended_ns as ended_ns,
            case when m.outcome in ('ok', 'in_flight') then 0 else 1 end as failed
        from commits as m
        where m.kind = 'tool'
          and m.outcome <> 'in_flight'
          and m.replay_of = ''
    ) as f
) as c
group by c.tool, c.input_hash
having sum(c.failed) > 0
