-- The answer that a turn ended with, as the agent's run says it.
alter table raw.spans add column turn_output varchar default '';
alter table raw.open_spans add column turn_output varchar default '';
