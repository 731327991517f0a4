-- one row: when the first and the last of about $rows spans ended, oldest first; together they are all that were chosen and have ended
select
    min(w.end_ns) as first_ns,
    max(w.end_ns) as last_ns
from (
    select
        end_ns,
        (row_number() over (order by end_ns) - 1) // $rows as window_number
    from chosen_spans($sessions, $since, $until)
    where has_ended
) as w
group by w.window_number
order by w.window_number
