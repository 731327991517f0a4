-- What somebody has checked, of a chunk whose entries are loaded.
insert into raw.checks
select
    session_key,
    key,
    value
from raw.deltas
where session_key in (select session_key from met_sessions)
  and commit_id in (select commit_id from arrived where record = 'end')
  and kind = 'source'
  and action = 'verify'
  and op = 'set'
order by session_key;
