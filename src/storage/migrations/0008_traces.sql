-- The trace that a message belongs to, where the request that brought it named one: a W3C `traceparent`, and after a space its `tracestate`.
alter table messages add column trace text collate "C";
