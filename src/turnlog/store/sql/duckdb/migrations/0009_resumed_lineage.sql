-- The conversation that a resumed session's first model call takes the place of.
alter table raw.spans add column resumed_lineage varchar default '';
alter table raw.open_spans add column resumed_lineage varchar default '';
