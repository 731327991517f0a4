-- A span that is sent again, or that its own process has written here as well, is one span. What `staged` has of those that are
-- known goes. `known_spans` and `known_processes` are as in load.sql. Times that a receiver moved differ by less than an hour.
create or replace temp table told_before as
with coming as (
    select
        rowid as place,
        commit_id,
        starts_with(process_id, 'received:') as is_received,
        case
            when starts_with(process_id, 'received:') then commit_id
            else substr(md5(concat(trace_id, span_id, start_ns)), 1, 16)
        end as span_key
    from staged
    where record = 'end'
),
there as (
    select
        starts_with(p.process_id, 'received:') as was_received,
        case
            when starts_with(p.process_id, 'received:') then s.commit_id
            else substr(md5(concat(s.trace_id, s.span_id, s.start_ns)), 1, 16)
        end as span_key
    from known_spans as s
    join known_processes as p using (process_key)
    where s.start_ns >= (select min(start_ns)::hugeint - 3600000000000 from staged where record = 'end')
      and s.start_ns <= (select max(start_ns)::hugeint + 3600000000000 from staged where record = 'end')
),
repeated as (
    select
        place,
        row_number() over (partition by span_key order by is_received, place) as nth
    from coming
)
select
    place,
    commit_id
from coming
where (is_received and span_key in (select span_key from there))
   or span_key in (select span_key from there where was_received)
   or place in (select place from repeated where nth > 1);

delete from raw.open_spans
where commit_id in (select commit_id from told_before);

delete from staged
where rowid in (select place from told_before)
   or (record = 'start' and commit_id in (select commit_id from told_before));
