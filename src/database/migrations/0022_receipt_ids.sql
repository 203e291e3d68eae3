-- The form of carrier ids in receipts that a link has learnt, so that a restart does not forget it.
create table link_receipt_ids (
  link        text collate "C" primary key,
  -- The account at the carrier. The form of another account does not count.
  account     text not null,
  base        text not null,
  letters     text not null,
  -- The number of digits of an id in a response, with leading zeros.
  width       smallint,
  learnt_at   timestamptz not null
);
