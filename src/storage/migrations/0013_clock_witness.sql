-- The time of a node whose clock agrees with that of the database, stored every ten seconds. A node that starts while the
-- two clocks differ uses the one that is nearer to this time.
alter table installation add column clock_at timestamptz;
