-- What a bundle says beside its spans, after load.sql has loaded them. Their entries come as they were: a process's death has made
-- some, and retention has taken others.
insert into raw.deltas
select
    session_key,
    turn_id,
    commit_id,
    end_ns,
    coalesce(change.sequence, 0),
    tool,
    coalesce(change.op, ''),
    coalesce(change.kind, ''),
    coalesce(change.key, ''),
    coalesce(change.value, ''),
    coalesce(change.tier, ''),
    coalesce(change.action, ''),
    coalesce(change.evidence, ''),
    coalesce(change.renamed_from, '')
from (
    select
        session_key,
        turn_id,
        commit_id,
        end_ns,
        tool,
        unnest(from_json(entries, '[{"sequence":"BIGINT","op":"VARCHAR","kind":"VARCHAR","key":"VARCHAR","value":"VARCHAR","tier":"VARCHAR","action":"VARCHAR","evidence":"VARCHAR","renamed_from":"VARCHAR"}]')) as change
    from arrived
    where record = 'end'
      and carried
)
order by session_key, end_ns, change.sequence;

insert into raw.interrupted
select
    session_key,
    commit_id,
    start_ns,
    died_ns
from arrived
where record = 'end'
  and died_ns > 0
order by session_key, start_ns;

-- Nobody here sees whether they still run; should one of them write here after all, it is revived.
update raw.processes
set gone = true
where process_id in (select process_id from staged where record = 'process' and carried)
  and process_id not in (select j.process_id from raw.journals as j);
