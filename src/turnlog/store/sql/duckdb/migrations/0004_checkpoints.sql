-- The checkpoints that a framework saves of its own state.
alter table raw.spans add column checkpoint_id varchar default '';
alter table raw.spans add column checkpoint_parent varchar default '';
alter table raw.spans add column checkpoint_source varchar default '';
alter table raw.open_spans add column checkpoint_id varchar default '';
alter table raw.open_spans add column checkpoint_parent varchar default '';
alter table raw.open_spans add column checkpoint_source varchar default '';
