/** All SQL of the delivery queue: the messages that wait for a provider. */

/** Lower goes first. */
export const PRIORITY_RANK = { high: 0, normal: 1, bulk: 2 } as const;

/** The messages in `accepted` join the queue in the transaction that accepts them, due at once. */
export const enqueue = `
  insert into delivery_queue (message_id, account_id, environment, priority, due_at)
  select message_id, account_id, environment, priority_rank, now()
    from accepted
   where message_id is not null`;
