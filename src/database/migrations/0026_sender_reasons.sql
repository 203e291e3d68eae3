-- Why a message has its sender and its link. Null on inbound messages and on older ones. A sender that the request names is
-- never replaced.
alter table messages
  add column sender_reason  text collate "C",
  add column link_reason    text collate "C";
