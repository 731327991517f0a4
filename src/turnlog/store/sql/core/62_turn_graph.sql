-- one row: a turn, or an edit of a framework's state, with what it goes on from: an earlier turn, or an edit; 0 and '' are the beginning
-- view: turn_graph
select
    b.session_id as session_id,
    b.turn as turn,
    '' as edit,
    case when b.is_saved = 1 then b.own_parent else first_value(b.own_parent) over alike end as parent_turn,
    case when b.is_saved = 1 then b.own_edit else first_value(b.own_edit) over alike end as parent_edit,
    case
        when b.attempt > 1 then 'retry'
        when b.is_fork = 1 or (b.is_saved = 0 and b.head_turn < b.turn) then 'fork'
        else ''
    end as relation,
    b.original_turn as original_turn,
    b.attempt as attempt,
    b.started_ns as at_ns
from (
    select
        a.session_id as session_id,
        a.turn as turn,
        a.attempt as attempt,
        a.original_turn as original_turn,
        n.started_ns as started_ns,
        coalesce(s.is_saved, 0) as is_saved,
        coalesce(s.is_fork, 0) as is_fork,
        -- The same messages before it: attempts of one turn, or other questions in its place. Before a first question
        -- (the digest of nothing) stand all that have nothing to do with each other.
        case
            when a.prefix_hash in ('', 'sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855') then a.original_turn
            else min(a.turn) over (partition by a.session_id, a.prefix_hash)
        end as head_turn,
        case
            when coalesce(s.is_saved, 0) = 1 then s.parent_turn
            when coalesce(m.said_before, 0) > 0 then m.said_before
            else a.turn - 1
        end as own_parent,
        coalesce(s.parent_edit, '') as own_edit
    from turn_attempts as a
    join turn_numbers as n on n.session_id = a.session_id and n.turn = a.turn
    left join (
        select
            k.session_id as session_id,
            k.turn as turn,
            k.parent_turn as parent_turn,
            k.is_fork as is_fork,
            case when k.parent_source = 'update' then k.parent_commit else '' end as parent_edit,
            1 as is_saved
        from (
            select
                c.session_id as session_id,
                c.turn as turn,
                c.parent_turn as parent_turn,
                c.parent_commit as parent_commit,
                c.is_fork as is_fork,
                coalesce(u.source, '') as parent_source,
                row_number() over (partition by c.session_id, c.turn order by c.saved_ns, c.commit_id) as place
            from checkpoints as c
            left join checkpoints as u on u.session_id = c.session_id and u.commit_id = c.parent_commit
            where c.source <> 'update'
        ) as k
        where k.place = 1
          and (k.is_fork = 1 or k.parent_source = 'update' or (k.parent_commit <> '' and k.parent_turn <> k.turn))
    ) as s on s.session_id = a.session_id and s.turn = a.turn
    left join (
        -- The conversation of the turn's first model call, and its turn before.
        select
            f.session_id as session_id,
            f.turn as turn,
            lag(f.turn, 1, 0) over (partition by f.session_id, f.lineage order by f.turn) as said_before
        from (
            select
                d.session_id as session_id,
                d.turn as turn,
                d.lineage as lineage,
                row_number() over (partition by d.session_id, d.turn order by d.started_ns, d.commit_id) as place
            from commits as d
            where d.lineage <> ''
        ) as f
        where f.place = 1
    ) as m on m.session_id = a.session_id and m.turn = a.turn
) as b
window alike as (partition by b.session_id, b.head_turn order by b.turn)
union all
select
    e.session_id as session_id,
    e.turn as turn,
    e.commit_id as edit,
    e.parent_turn as parent_turn,
    case when coalesce(o.source, '') = 'update' then e.parent_commit else '' end as parent_edit,
    case when e.is_fork = 1 then 'fork' else '' end as relation,
    e.turn as original_turn,
    cast(1 as bigint) as attempt,
    e.saved_ns as at_ns
from checkpoints as e
left join checkpoints as o on o.session_id = e.session_id and o.commit_id = e.parent_commit
where e.source = 'update'
