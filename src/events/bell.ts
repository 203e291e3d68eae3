/** Rung when a transaction has put something into the outbox: whoever tells it looks at once, here and in other processes. */
export type Bell = { ring(): void };
