-- The lifecycle commits of a chunk, after load.sql has loaded its spans.
insert into raw.lifecycle
select
    x.session_key,
    p.process_key,
    s.turn_id,
    s.commit_id,
    s.end_ns,
    s.lifecycle_state,
    s.pause_reason,
    s.pinned
from staged as s
join raw.sessions as x using (session_id)
join raw.processes as p using (process_id)
where s.record = 'end'
  and s.commit_kind = 'lifecycle'
  and (s.lifecycle_state <> '' or s.pinned <> '')
order by x.session_key, s.end_ns;

insert into raw.leases
select
    x.session_key,
    p.process_key,
    s.turn_id,
    s.commit_id,
    s.end_ns,
    s.lease_epoch,
    s.lease_holder,
    coalesce(from_json(s.lease_fences, '["VARCHAR"]'), [])
from staged as s
join raw.sessions as x using (session_id)
join raw.processes as p using (process_id)
where s.record = 'end'
  and s.commit_kind = 'lifecycle'
  and (s.lease_epoch > 0 or s.lease_fences <> '[]')
order by x.session_key, s.end_ns;
