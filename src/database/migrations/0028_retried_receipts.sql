-- Releases that know schema 27 or later work on this schema.
-- The next time at which a parked receipt is tried. Its carrier id may have another form than the response, so the id itself never becomes
-- known. Null: the receipt waits for its id.
alter table parked_receipts add column retry_at timestamptz;
