-- The time of a node, and the time of the database at that moment, stored every ten seconds. The difference is the step of
-- the database's clock that the nodes do not follow. A node that starts uses the same time as the others.
alter table installation
  add column clock_at           timestamptz,
  add column database_clock_at  timestamptz;
