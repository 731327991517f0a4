-- one row: a commit that has all the terms (in lower case) in what is known of it, its captured content included; an empty term is in all, quotes and blanks alone in none
-- macro: search(p_session, p_term_a, p_term_b, p_term_c, p_term_d)
select
    f.commit_id as commit_id,
    f.committed_at as committed_at,
    f.session_id as session_id,
    f.turn as turn,
    f.kind as kind,
    f.tool as tool,
    f.outcome as outcome,
    f.place as place,
    case
        when f.place = 'input' then excerpt_of(f.input_summary, p_term_a)
        when f.place = 'output' then excerpt_of(f.output_summary, p_term_a)
        when f.place = 'error' then excerpt_of(f.failure, p_term_a)
        when f.place = 'choice' then excerpt_of(f.choice, p_term_a)
        when f.place = 'reason' then excerpt_of(f.reason, p_term_a)
        when f.place = 'changes' then excerpt_of(f.delta, p_term_a)
        when f.place = 'captured input' then excerpt_of(f.captured_input, p_term_a)
        when f.place = 'tool' then f.input_summary
        else excerpt_of(f.captured_output, p_term_a)
    end as excerpt,
    f.ended_ns as ended_ns
from (
    select
        h.*,
        case
            when holds(h.input_summary, p_term_a) then 'input'
            when holds(h.output_summary, p_term_a) then 'output'
            when holds(h.failure, p_term_a) then 'error'
            when holds(h.choice, p_term_a) then 'choice'
            when holds(h.reason, p_term_a) then 'reason'
            when holds(h.tool, p_term_a) then 'tool'
            when holds(h.delta, p_term_a) then 'changes'
            when holds(h.captured_input, p_term_a) then 'captured input'
            else 'captured output'
        end as place
    from (
        select
            g.*,
            concat(g.tool, ' " ', g.input_summary, ' " ', g.output_summary, ' " ', g.failure, ' " ', g.choice, ' " ', g.reason, ' " ', g.delta, ' " ', g.captured_input, ' " ', g.captured_output) as whole
        from (
            select
                c.commit_id as commit_id,
                c.committed_at as committed_at,
                c.session_id as session_id,
                c.turn as turn,
                c.kind as kind,
                c.tool as tool,
                c.outcome as outcome,
                c.input_summary as input_summary,
                c.output_summary as output_summary,
                concat(c.error, ' ', c.error_message) as failure,
                c.choice as choice,
                c.reason as reason,
                c.delta as delta,
                c.ended_ns as ended_ns,
                coalesce(i.content, '') as captured_input,
                coalesce(o.content, '') as captured_output
            from commits as c
            left join blob_rows as i on i.content_hash = c.input_hash
            left join blob_rows as o on o.content_hash = c.output_hash
            where p_session = ''
               or c.session_id = p_session
        ) as g
    ) as h
    where holds(h.whole, p_term_a)
      and holds(h.whole, p_term_b)
      and holds(h.whole, p_term_c)
      and holds(h.whole, p_term_d)
) as f
