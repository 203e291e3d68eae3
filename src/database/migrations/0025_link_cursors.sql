-- The position in the reports of a carrier that a link polls.

create table link_cursors (
  link      text collate "C" primary key,
  position  text not null
);
