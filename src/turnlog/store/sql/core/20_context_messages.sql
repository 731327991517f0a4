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
    case when m.answers_call <> '' then coalesce(p.commit_id, '') else '' end as tool_commit,
    case when m.answers_call = '' then coalesce(p.commit_id, '') else '' end as decision_commit,
    coalesce(p.tool, '') as tool,
    case
        when m.spoken <> '' then m.spoken
        -- What stands in for a result that was cleared answers the same call.
        when m.answers_call <> ''
            and m.digest <> first_value(m.digest) over (partition by m.session_id, p.commit_id order by m.added_ns, m.position)
            then ''
        else coalesce(p.produced, '')
    end as summary,
    coalesce(p.produced, '') as source_summary,
    case
        when coalesce(p.turn, 0) > 0 then p.turn
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
        g.spoken as spoken,
        g.added_turn as added_turn,
        g.added_commit as added_commit,
        g.added_at as added_at,
        g.added_ns as added_ns,
        g.evicted_turn as evicted_turn,
        g.evicted_commit as evicted_commit,
        g.evicted_ns as evicted_ns,
        case when g.answers_call <> '' then 'tool' else 'decision' end as source_type,
        -- A process that resumes does not know who said what it was given; an earlier one that saw the same message may.
        case
            when g.answers_call <> '' then g.answers_call
            when g.said_by <> '' or g.speaker <> 'assistant' then g.said_by
            else max(g.said_by) over (partition by g.session_id, g.digest)
        end as source_key,
        min(g.added_ns) over (partition by g.session_id, g.lineage) as lineage_started_ns,
        min(g.added_turn) over (partition by g.session_id, g.digest) as first_turn
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
            max(c.origin_span_id) as said_by,
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
    where g.added_ns > 0
) as m
asof left join (
    select
        c.session_id as session_id,
        c.kind as source_type,
        case when c.kind = 'tool' then c.tool_call_id else c.span_id end as source_key,
        c.started_ns as started_ns,
        c.commit_id as commit_id,
        c.turn as turn,
        c.tool as tool,
        case
            when c.kind = 'tool' and c.output_summary = '' and c.error_message <> '' then c.error_message
            when c.kind = 'tool' and c.output_summary = '' then c.error
            when c.kind = 'tool' or c.choice in ('', 'answer') then c.output_summary
            when c.output_summary = '' then c.choice
            else c.choice || ' - ' || c.output_summary
        end as produced
    from commits as c
    where c.kind in ('tool', 'decision')
) as p
    on p.session_id = m.session_id
    and p.source_type = m.source_type
    and p.source_key = m.source_key
    and p.started_ns <= m.added_ns
