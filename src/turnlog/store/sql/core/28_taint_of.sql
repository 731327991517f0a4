-- one row: a commit that is built on a source: on the given commit's output or, with '' for it, on each unverified input
-- macro: taint_of(p_session, p_commit)
with
calls as (
    select
        i.session_id as session_id,
        i.source_id as source_id,
        s.commit_id as commit_id,
        case when s.start_ns >= i.seen_from_ns and s.start_ns < i.seen_until_ns then 'context' else 'derived' end as how,
        case
            when s.commit_id = i.source_id then s.commit_id
            when s.start_ns >= i.seen_from_ns and s.start_ns < i.seen_until_ns then i.source_id || ' > ' || s.commit_id
            when s.start_ns >= i.seen_from_ns and i.last_seen_by <> ''
                then i.source_id || ' > ' || i.last_seen_by || ' > ' || s.commit_id
            when i.passed_by in ('', i.source_id) then i.source_id || ' > ' || s.commit_id
            else i.source_id || ' > ' || i.passed_by || ' > ' || s.commit_id
        end as path
    from influence(p_session, p_commit) as i
    join span_rows as s
        on s.session_id = i.session_id
        and s.lineage = i.lineage
        and s.start_ns >= i.from_ns
        and s.start_ns <= i.to_ns
    where s.commit_kind = 'decision'
      and (s.session_id = p_session or p_session = '')
),
made as (
    select
        c.session_id as session_id,
        c.commit_id as commit_id,
        c.turn as turn,
        c.kind as kind,
        c.tool as tool,
        c.ended_ns as ended_ns
    from commits as c
    where c.session_id = p_session
       or p_session = ''
)
select
    b.session_id as session_id,
    b.source_id as source_commit,
    o.tool as source_tool,
    o.turn as source_turn,
    b.commit_id as commit_id,
    c.turn as turn,
    c.turn - o.turn as turns_later,
    c.kind as kind,
    c.tool as tool,
    b.decision_id as decision_commit,
    b.how as how,
    b.path as path,
    c.ended_ns as at_ns
from (
    select
        d.session_id as session_id,
        d.source_id as source_id,
        d.commit_id as commit_id,
        d.commit_id as decision_id,
        d.how as how,
        d.path as path
    from calls as d
    where d.commit_id <> d.source_id
    union all
    select
        d.session_id as session_id,
        d.source_id as source_id,
        a.commit_id as commit_id,
        d.commit_id as decision_id,
        d.how as how,
        case
            when a.ran_in = a.commit_id then d.path || ' > ' || a.commit_id
            else d.path || ' > ' || a.ran_in || ' > ' || a.commit_id
        end as path
    from calls as d
    join askings(p_session) as a on a.asked_by = d.commit_id
    where a.lineage = ''
) as b
join made as c on c.commit_id = b.commit_id
join made as o on o.commit_id = b.source_id
