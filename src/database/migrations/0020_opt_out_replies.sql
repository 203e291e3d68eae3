-- True for the automatic reply to an opt-out, the one message that may be sent after it. Null for all other messages.
alter table messages
  add column is_opt_out_reply boolean;
