-- What a reader sees when a process that was taken for gone writes on: spans that it ended after all are interrupted no more.
create or replace view raw.spans as
select *
from store.raw.spans
where outcome <> 'interrupted'
   or commit_id not in (select commit_id from tail.raw.spans)
union all
from tail.raw.spans;
