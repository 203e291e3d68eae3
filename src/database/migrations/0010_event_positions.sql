-- The order in which clients read events. A transaction draws the position of each event while it holds a lock on the
-- table, which src/events/positions.ts relies on. The sequence caches no numbers: a session would draw them before it
-- holds the lock.
create sequence event_positions cache 1;
-- From here on `last_value` is a number that was drawn.
select nextval('event_positions');

-- Events from before this migration have position 0. Among them the order of their ids counts.
alter table events add column position bigint not null default 0;
alter table events alter column position set default nextval('event_positions');
-- The condition is always true. Without it the planner could use the index, which begins like the key, for statements
-- that look up an event by its id.
create index events_by_position on events (account_id, environment, position, id) where position >= 0;
