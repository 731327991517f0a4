-- Which spans do not count: what a process did in a session after another had taken it over, until it claims the session again itself.
-- All of them anew: a fence can be loaded before or after what it fences. They are few.
delete from raw.fenced;

insert into raw.fenced
with fences as (
    select
        l.session_key,
        p.process_key,
        min(l.ts_ns) as from_ns,
        l.until_ns
    from (
        select
            f.session_key,
            f.ts_ns,
            f.fenced,
            coalesce(min(c.ts_ns), 9223372036854775807) as until_ns
        from (
            select
                session_key,
                ts_ns,
                epoch,
                unnest(fences) as fenced
            from raw.leases
        ) as f
        -- By epoch: of two that claim at once, the earlier may be the later to say so. Who fences itself names none.
        left join raw.leases as c
            on c.session_key = f.session_key
            and c.holder = f.fenced
            and ((f.epoch > 0 and c.epoch > f.epoch) or (f.epoch = 0 and c.ts_ns > f.ts_ns))
        group by f.session_key, f.ts_ns, f.epoch, f.fenced
    ) as l
    join raw.processes as p on p.process_id = l.fenced
    group by l.session_key, p.process_key, l.until_ns
)
select
    a.session_key,
    a.commit_id
from (
    select
        session_key,
        process_key,
        commit_id,
        end_ns
    from raw.spans
    union all
    select
        session_key,
        process_key,
        commit_id,
        start_ns
    from raw.open_spans
) as a
join fences as f using (session_key, process_key)
where a.end_ns >= f.from_ns
  and a.end_ns < f.until_ns;
