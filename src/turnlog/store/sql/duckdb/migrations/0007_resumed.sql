-- What agents report of themselves, what a replay needs, who took a session over, what a framework keeps, whom a session continues.
alter table raw.spans add column self_reported varchar default '';
alter table raw.spans add column replay_record varchar default '';
alter table raw.spans add column replay_of varchar default '';
alter table raw.spans add column lease_fences varchar default '[]';
alter table raw.spans add column memory_operation varchar default '';
alter table raw.spans add column memory_items varchar default '[]';
alter table raw.spans add column previous_session varchar default '';
alter table raw.open_spans add column self_reported varchar default '';
alter table raw.open_spans add column replay_record varchar default '';
alter table raw.open_spans add column replay_of varchar default '';
alter table raw.open_spans add column lease_fences varchar default '[]';
alter table raw.open_spans add column memory_operation varchar default '';
alter table raw.open_spans add column memory_items varchar default '[]';
alter table raw.open_spans add column previous_session varchar default '';
