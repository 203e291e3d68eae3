-- The trace that the request of the message named, if any: a W3C `traceparent`, and after a space its `tracestate`.
alter table messages add column trace text collate "C";
