-- one row: a message in a model's context: from which model call on, until which, and where it comes from
-- view: context_messages
select
    m.session_id as session_id,
    m.lineage as lineage,
    m.position as position,
    m.process_key as process_key,
    m.lineage_started_ns as lineage_started_ns,
    m.digest as message_hash,
    m.message_key as message_key,
    m.speaker as role,
    m.answers_call as tool_call_id,
    case when m.answers_call <> '' then m.source_commit else '' end as tool_commit,
    case when m.answers_call = '' then m.source_commit else '' end as decision_commit,
    m.source_tool as tool,
    case
        when m.spoken <> '' then m.spoken
        -- What stands in for a result that was cleared answers the same call.
        when m.answers_call <> '' and m.digest <> first_value(m.digest) over same_source then ''
        else m.produced
    end as summary,
    m.produced as source_summary,
    case
        when m.source_turn > 0 then m.source_turn
        when m.added_ns = m.lineage_started_ns then m.first_turn
        else m.added_turn
    end as introduced_in,
    m.added_turn as added_turn,
    m.added_commit as added_commit,
    m.added_at as added_at,
    m.added_ns as added_ns,
    m.evicted_turn as evicted_turn,
    m.evicted_commit as evicted_commit,
    m.evicted_ns as evicted_ns
from (
    select
        g.session_id as session_id,
        g.lineage as lineage,
        g.position as position,
        g.process_key as process_key,
        g.digest as digest,
        g.message_key as message_key,
        g.speaker as speaker,
        g.answers_call as answers_call,
        -- What a fork shares with the path that it leaves was told there.
        max(g.spoken) over same_message as spoken,
        g.added_turn as added_turn,
        g.added_commit as added_commit,
        g.added_at as added_at,
        g.added_ns as added_ns,
        g.evicted_turn as evicted_turn,
        g.evicted_commit as evicted_commit,
        g.evicted_ns as evicted_ns,
        -- A process that resumes does not know who said what it was given; an earlier one that saw the same message may.
        case
            when coalesce(s.commit_id, '') <> '' or g.speaker <> 'assistant' then coalesce(s.commit_id, '')
            else max(coalesce(s.commit_id, '')) over same_message
        end as source_commit,
        case
            when coalesce(s.commit_id, '') <> '' or g.speaker <> 'assistant' then coalesce(s.turn, 0)
            else max(coalesce(s.turn, 0)) over same_message
        end as source_turn,
        case
            when coalesce(s.commit_id, '') <> '' or g.speaker <> 'assistant' then coalesce(s.summary, '')
            else max(coalesce(s.summary, '')) over same_message
        end as produced,
        coalesce(s.tool, '') as source_tool,
        min(g.added_turn) over same_message as first_turn,
        min(g.added_ns) over (partition by g.session_id, g.lineage) as lineage_started_ns
    from (
        select
            c.session_id as session_id,
            c.lineage as lineage,
            c.position as position,
            min(c.process_key) as process_key,
            max(c.message_hash) as digest,
            max(c.message_key) as message_key,
            max(c.role) as speaker,
            max(c.tool_call_id) as answers_call,
            max(c.summary) as spoken,
            max(case when c.op = 'add' then t.turn else 0 end) as added_turn,
            max(case when c.op = 'add' then c.commit_id else '' end) as added_commit,
            min(c.changed_at) as added_at,
            max(case when c.op = 'add' then c.ts_ns else 0 end) as added_ns,
            max(case when c.op = 'evict' then t.turn else 0 end) as evicted_turn,
            max(case when c.op = 'evict' then c.commit_id else '' end) as evicted_commit,
            min(case when c.op = 'evict' then c.ts_ns else 9223372036854775807 end) as evicted_ns
        from context_rows as c
        join turn_numbers as t on t.session_id = c.session_id and t.turn_id = c.turn_id
        group by c.session_id, c.lineage, c.position
    ) as g
    left join message_sources as s
        on s.session_id = g.session_id
        and s.lineage = g.lineage
        and s.position = g.position
    where g.added_ns > 0
    window same_message as (partition by g.session_id, g.digest)
) as m
window same_source as (partition by m.session_id, m.source_commit order by m.added_ns, m.position)
