-- Checkpoints that a run saved by itself are no longer among the commits of a session.
update raw.sessions as x
set commit_count = x.commit_count - u.checkpoints
from (
    select
        session_key,
        count(*) as checkpoints
    from raw.spans
    where commit_kind <> ''
      and checkpoint_source in ('input', 'step')
    group by session_key
) as u
where x.session_key = u.session_key;
