-- one row: a reason for which something could not be kept, and how much
-- view: losses
select
    l.reason as reason,
    cast(sum(l.lost_count) as bigint) as lost,
    max(l.lost_at) as last_at
from loss_rows as l
group by l.reason
