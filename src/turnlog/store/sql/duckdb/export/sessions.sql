-- one row: a session that spans were chosen of, and how many
select
    session_id,
    count(*) filter (where has_ended) as spans,
    count(*) filter (where not has_ended) as unfinished
from chosen_spans($sessions, $since, $until)
group by session_id
order by session_id
