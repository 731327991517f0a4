-- one row: a span, with everything that is known of it
select * exclude (session_key, process_key)
from bundled_spans($sessions)
order by session_id, start_ns, commit_id
