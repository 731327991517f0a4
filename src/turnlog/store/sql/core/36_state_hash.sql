-- one row: what a session's state comes to, as one digest of its entries: equal in every store that holds the same state
-- macro: state_hash(p_session)
select
    concat('sha256:', digest_of_all(r.entry)) as digest,
    count(*) as entry_count
from (
    select
        digest(
            concat(
                digest(s.kind),
                digest(s.key),
                digest(s.value),
                digest(s.tier),
                digest(s.action),
                digest(s.evidence),
                digest(cast(s.turn as varchar))
            )
        ) as entry
    from state as s
    where s.session_id = p_session
) as r
