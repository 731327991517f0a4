-- one row: how much a store holds of a session, and how many of its spans have not ended
select
    (select count(*) from turn_numbers where session_id = $session) as turns,
    (select coalesce(sum(commit_count), 0)::bigint from session_rows where session_id = $session) as commits,
    (select count(*) from span_rows where session_id = $session) as spans,
    (select count(*) from unfinished_rows where session_id = $session) as unfinished
