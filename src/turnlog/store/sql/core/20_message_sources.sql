-- one row: a message of a model's context that a recorded tool or model call produced
-- view: message_sources
select
    g.session_id as session_id,
    g.lineage as lineage,
    g.position as position,
    g.source_commit as commit_id,
    g.source_turn as turn,
    g.source_tool as tool,
    g.produced as summary
from (
    select
        n.session_id as session_id,
        n.lineage as lineage,
        n.position as position,
        n.is_message as is_message,
        max(n.commit_id) over same_source as source_commit,
        max(n.turn) over same_source as source_turn,
        max(n.tool) over same_source as source_tool,
        max(n.said) over same_source as produced
    from (
        select
            u.session_id as session_id,
            u.source_type as source_type,
            u.source_key as source_key,
            u.lineage as lineage,
            u.position as position,
            u.is_message as is_message,
            u.commit_id as commit_id,
            u.turn as turn,
            u.tool as tool,
            u.said as said,
            -- Ids of calls and spans come again: a message is from the last that began before it. Counting them, and not
            -- an asof join, because DuckDB makes that a nested loop where it expects few rows of a session.
            sum(1 - u.is_message) over (
                partition by u.session_id, u.source_type, u.source_key
                order by u.at_ns, u.is_message
            ) as nth
        from (
            select
                a.session_id as session_id,
                case when a.tool_call_id <> '' then 'tool' else 'decision' end as source_type,
                case when a.tool_call_id <> '' then a.tool_call_id else a.origin_span_id end as source_key,
                a.lineage as lineage,
                a.position as position,
                a.ts_ns as at_ns,
                1 as is_message,
                '' as commit_id,
                0 as turn,
                '' as tool,
                '' as said
            from context_rows as a
            where a.op = 'add'
              and (a.tool_call_id <> '' or a.origin_span_id <> '')
            union all
            select
                c.session_id as session_id,
                c.kind as source_type,
                case when c.kind = 'tool' then c.tool_call_id else c.span_id end as source_key,
                '' as lineage,
                0 as position,
                c.started_ns as at_ns,
                0 as is_message,
                c.commit_id as commit_id,
                c.turn as turn,
                c.tool as tool,
                case
                    when c.kind = 'tool' and c.output_summary = '' and c.error_message <> '' then c.error_message
                    when c.kind = 'tool' and c.output_summary = '' then c.error
                    when c.kind = 'tool' or c.choice in ('', 'answer') then c.output_summary
                    when c.output_summary = '' then c.choice
                    else c.choice || ' - ' || c.output_summary
                end as said
            from commits as c
            where (c.kind = 'tool' and c.tool_call_id <> '')
               or c.kind = 'decision'
        ) as u
    ) as n
    window same_source as (partition by n.session_id, n.source_type, n.source_key, n.nth)
) as g
where g.is_message = 1
  and g.source_commit <> ''
