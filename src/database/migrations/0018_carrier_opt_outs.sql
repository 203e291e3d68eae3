-- Carriers report opt-outs that recipients made there.
alter table suppressions
  drop constraint suppressions_source_check,
  add constraint suppressions_source_check check (source in ('keyword', 'api', 'import', 'carrier'));
