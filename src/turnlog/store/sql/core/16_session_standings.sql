-- one row: one of some sessions, by their keys, and how it stands: open, active, idle, dead (its process died in the middle of work), paused, closed or archived
-- macro: session_standings(p_keys)
select
    s.session_id as session_id,
    case
        when coalesce(l.state_after, '') in ('paused', 'closed', 'archived') and l.since_ns >= coalesce(n.last_turn_ns, 0) then l.state_after
        when coalesce(u.running_count, 0) > 0 then 'active'
        when coalesce(u.last_died_ns, 0) > 0
            and coalesce(n.last_turn_ns, 0) <= u.last_died_ns
            and s.last_ns <= greatest(u.last_died_ns, coalesce(l.ts_ns, 0)) then 'dead'
        when coalesce(n.turn_count, 0) = 0 then 'open'
        else 'idle'
    end as status,
    coalesce(l.pinned_after, '') = 'true' as pinned,
    s.agent as agent,
    s.first_at as started_at,
    s.last_at as last_active_at,
    coalesce(n.turn_count, 0) as turns,
    s.commit_count as commits,
    s.failure_count as failures,
    coalesce(u.in_flight_count, 0) as in_flight,
    s.input_tokens as tokens_in,
    s.output_tokens as tokens_out,
    s.span_count as spans,
    s.first_ns as started_ns,
    s.last_ns as last_active_ns,
    coalesce(n.last_turn_ns, 0) as last_turn_ns,
    coalesce(l.ts_ns, 0) as last_said_ns
from session_rows as s
left join (
    select
        t.session_key as session_key,
        count(*) as turn_count,
        max(t.first_ns) as last_turn_ns
    from turn_rows as t
    where among(t.session_key, p_keys)
    group by t.session_key
) as n on n.session_key = s.session_key
left join (
    select
        r.session_key as session_key,
        r.state_after as state_after,
        r.since_ns as since_ns,
        r.pinned_after as pinned_after,
        r.ts_ns as ts_ns,
        row_number() over (partition by r.session_key order by r.ts_ns desc, r.commit_id desc) as age
    from lifecycle_rows as r
    where among(r.session_key, p_keys)
) as l on l.session_key = s.session_key and l.age = 1
left join (
    select
        f.session_key as session_key,
        cast(sum(case when f.died_ns = 0 then 1 else 0 end) as bigint) as running_count,
        cast(sum(f.is_running_commit) as bigint) as in_flight_count,
        max(f.died_ns) as last_died_ns
    from unfinished_rows as f
    where among(f.session_key, p_keys)
    group by f.session_key
) as u on u.session_key = s.session_key
where s.is_told
  and among(s.session_key, p_keys)
