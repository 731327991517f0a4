-- one row: a lineage that goes on with one of an earlier process
-- view: resumptions
select
    r.session_id as session_id,
    r.lineage as lineage,
    r.earlier_lineage as resumed_lineage,
    r.added_turn as turn,
    r.added_commit as commit_id,
    r.added_at as resumed_at,
    r.added_ns as resumed_ns
from (
    select
        o.session_id as session_id,
        o.lineage as lineage,
        o.process_key as process_key,
        o.earlier_lineage as earlier_lineage,
        o.earlier_process as earlier_process,
        o.added_turn as added_turn,
        o.added_commit as added_commit,
        o.added_at as added_at,
        o.added_ns as added_ns,
        -- The last message that both know tells the tip of the old conversation from the branches that it left behind.
        row_number() over (partition by o.session_id, o.lineage order by o.position desc) as age
    from (
        select
            m.session_id as session_id,
            m.lineage as lineage,
            m.process_key as process_key,
            m.position as position,
            m.added_turn as added_turn,
            m.added_commit as added_commit,
            m.added_at as added_at,
            m.added_ns as added_ns,
            m.lineage_started_ns as lineage_started_ns,
            lag(m.lineage, 1, '') over same_message as earlier_lineage,
            lag(m.process_key, 1, m.process_key) over same_message as earlier_process,
            lag(m.evicted_ns, 1, m.added_ns) over same_message as earlier_until_ns
        from context_messages as m
        where m.role <> 'system'
        window same_message as (partition by m.session_id, m.message_hash order by m.added_ns, m.lineage, m.position)
        union all
        -- What a process says that it resumes, also when no message of it is left: it comes before all that messages tell.
        select
            c.session_id as session_id,
            c.lineage as lineage,
            c.process_key as process_key,
            cast(-9223372036854775807 as bigint) as position,
            t.turn as added_turn,
            c.commit_id as added_commit,
            c.started_at as added_at,
            c.start_ns as added_ns,
            c.start_ns as lineage_started_ns,
            c.resumed_lineage as earlier_lineage,
            cast(-1 as bigint) as earlier_process,
            cast(9223372036854775807 as bigint) as earlier_until_ns
        from span_rows as c
        join turn_numbers as t on t.session_id = c.session_id and t.turn_id = c.turn_id
        where c.resumed_lineage <> ''
    ) as o
    where o.added_ns = o.lineage_started_ns
      and o.earlier_lineage <> ''
      and o.earlier_lineage <> o.lineage
      and o.earlier_until_ns > o.added_ns
) as r
where r.age = 1
  and r.earlier_process <> r.process_key
