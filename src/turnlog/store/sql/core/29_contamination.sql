-- one row: a commit and an unverified input that it is built on, with the way from one to the other
-- view: contamination
select
    t.session_id as session_id,
    t.commit_id as commit_id,
    t.turn as turn,
    t.kind as kind,
    t.tool as tool,
    t.source_commit as source_commit,
    t.source_tool as source_tool,
    t.source_turn as source_turn,
    t.turns_later as turns_later,
    t.decision_commit as decision_commit,
    t.how as how,
    t.path as path,
    t.at_ns as at_ns
from taint_of('', '') as t
