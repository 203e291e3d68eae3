-- Releases that know schema 27 or later work on this schema.
-- The content of a message beside its text, as JSON of the API. Null for a text, and for a template with nothing but its variables.
alter table messages add column content json;
-- The API that a message came through. Null for our own.
alter table messages add column source text collate "C";
alter table kept_inbound add column content json;
-- The kind of the file above the text of a template.
alter table template_versions add column header_media text collate "C";

-- The bytes of a file, once for each account and environment. A file that is being received has the state writing, and no hash. A file that no media
-- have any more has the state deleted until its bytes are deleted, too.
create table media_files (
  id            uuid primary key,
  account_id    uuid not null,
  environment   text collate "C" not null,
  sha256        bytea,
  bytes         bigint not null default 0,
  state         text not null default 'writing' check (state in ('writing', 'stored', 'deleted')),
  -- database: the bytes are in media_chunks. bucket: in the bucket, under the id.
  place         text not null check (place in ('database', 'bucket')),
  -- The last progress of a file that is being received.
  touched_at    timestamptz not null,
  check (state <> 'stored' or sha256 is not null)
);
create unique index media_files_by_hash on media_files (account_id, environment, sha256) where state = 'stored';
create index media_files_unstored on media_files (id) where state <> 'stored';

create table media_chunks (
  file_id       uuid not null,
  number        integer not null,
  bytes         bytea not null,
  primary key (file_id, number)
);
-- Photos and documents are compressed already.
alter table media_chunks alter column bytes set storage external;

-- Media as an account sees them. Several can have one file.
create table media (
  account_id    uuid not null,
  environment   text collate "C" not null,
  id            uuid not null,
  -- pending: an inbound file that has not been downloaded. failed: it cannot be.
  status        text not null check (status in ('pending', 'ready', 'failed')),
  file_id       uuid references media_files (id),
  kind          text collate "C" not null,
  content_type  text collate "C",
  bytes         bigint,
  sha256        bytea,
  file_name     text,
  -- upload, url, or inbound.
  source        text collate "C" not null,
  created_by    text,
  -- The only person to whom the media were sent, or from whom they came; null for none and for several (is_shared).
  person        text collate "C",
  is_shared     boolean not null default false,
  -- The media are deleted after this time: the retention after their last use.
  keep_until    timestamptz not null,
  -- An inbound file: its message, and the link and the id or URL at the carrier by which it is downloaded.
  message_id    uuid,
  link          text collate "C",
  carrier_file  text,
  attempts      smallint not null default 0,
  -- The next attempt to download it. Null if there is none.
  due_at        timestamptz,
  -- Why it could not be downloaded.
  error         text,
  primary key (account_id, environment, id),
  check (status <> 'ready' or file_id is not null)
);
-- The URLs of files for carriers name no account.
create unique index media_by_id on media (id);
create index media_by_file on media (file_id) where file_id is not null;
create index media_by_person on media (account_id, environment, person) where person is not null;
create index media_by_end on media (keep_until);
-- Accounts take turns: each is found with one look, and then its first files.
create index media_due on media (account_id, due_at) where due_at is not null;

-- The ids that carriers gave to uploaded files, for each sender account at the carrier.
create table media_uploads (
  file_id           uuid not null references media_files (id) on delete cascade,
  carrier_account   text collate "C" not null,
  carrier_file      text not null,
  expires_at        timestamptz not null,
  primary key (file_id, carrier_account)
);

-- The bytes of an account's stored files.
create table media_usage (
  account_id    uuid not null,
  environment   text collate "C" not null,
  bytes         bigint not null,
  primary key (account_id, environment)
);
