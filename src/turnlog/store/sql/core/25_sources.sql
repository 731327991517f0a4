-- one row: an input of a session: where it comes from, and whether it is verified ('' when nobody has said)
-- view: sources
select
    i.session_id as session_id,
    t.turn as turn,
    i.commit_id as commit_id,
    i.source_kind as source_kind,
    case when coalesce(h.checked, '') <> '' or coalesce(c.checked, '') <> '' then 'true' else i.flag end as verified,
    case when coalesce(h.checked, '') <> '' then h.said else coalesce(c.said, '') end as verification,
    i.tool as tool,
    i.content_hash as content_hash,
    i.summary as summary,
    i.at_ns as at_ns
from (
    select
        s.session_id as session_id,
        s.turn_id as turn_id,
        s.commit_id as commit_id,
        case
            when s.commit_kind = 'decision' then 'model_generated'
            when s.source_kind = '' then 'tool_output'
            else s.source_kind
        end as source_kind,
        s.verified as flag,
        s.tool as tool,
        s.output_hash as content_hash,
        s.output_summary as summary,
        s.end_ns as at_ns
    from span_rows as s
    where (s.commit_kind = 'tool' or (s.commit_kind = 'decision' and s.operation <> ''))
      and s.outcome <> 'in_flight'
    union all
    select
        u.session_id as session_id,
        u.turn_id as turn_id,
        u.commit_id as commit_id,
        'user_supplied' as source_kind,
        '' as flag,
        '' as tool,
        u.turn_input_hash as content_hash,
        u.turn_input as summary,
        u.start_ns as at_ns
    from span_rows as u
    where u.turn_input_hash <> ''
    union all
    select
        o.session_id as session_id,
        o.turn_id as turn_id,
        o.commit_id as commit_id,
        'operator' as source_kind,
        '' as flag,
        '' as tool,
        o.message_hash as content_hash,
        o.summary as summary,
        o.ts_ns as at_ns
    from (
        select
            x.session_id as session_id,
            x.turn_id as turn_id,
            x.commit_id as commit_id,
            x.message_hash as message_hash,
            x.summary as summary,
            x.ts_ns as ts_ns,
            row_number() over (partition by x.session_id, x.message_hash order by x.ts_ns, x.commit_id) as age
        from context_rows as x
        where x.op = 'add'
          and x.role = 'system'
    ) as o
    where o.age = 1
) as i
join turn_numbers as t on t.session_id = i.session_id and t.turn_id = i.turn_id
left join check_rows as h on h.checked = i.content_hash
left join check_rows as c on c.checked = i.commit_id
