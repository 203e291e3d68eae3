-- Releases that know schema 27 or later work on this schema.
-- The transaction that marks a timeline, so that nodes which saw a later transaction on an earlier timeline know that it is missing: the server was
-- recovered to an earlier time. It holds for the mark beside it; an earlier release stores only the mark.
alter table installation add column marked_by xid8, add column marked_by_of uuid;
