-- one row: a number of a bundle's entry or message that cannot be counted on with
select sequence as number
from bundle_entries
where coalesce(sequence not between 0 and 4611686018427387903, true)
union all
select position as number
from bundle_contexts
where coalesce(position not between -281474976710655 and 281474976710655, true)
