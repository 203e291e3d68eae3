-- The time of a node, and the times of the database and of the node's machine at that moment, stored every few seconds. The
-- first difference is the step of the database's clock that the nodes do not follow. A node that starts uses the same time.
alter table installation
  add column clock_at           timestamptz,
  add column database_clock_at  timestamptz,
  add column machine_clock_at   timestamptz,
  add column machine            text;
