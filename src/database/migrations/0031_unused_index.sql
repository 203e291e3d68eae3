-- Releases that know schema 27 or later work on this schema.
-- The erasure of a recipient read kept messages by their sender. It leaves the list of the operator alone now, and nothing else reads them so.
drop index kept_inbound_by_sender;
