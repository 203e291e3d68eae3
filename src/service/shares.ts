/** The connections of the pool to the database, and who may use how many of them. Workers of one machine divide them. */

export type Shares = {
  pool: number;
  /** For credentials that this process has not seen before. */
  strangers: number;
  /** For the requests of tenants. The rest is always free for delivery, the leases of links, and receipts. */
  requests: number;
  /** Of the requests: those that take long, and the others. Two more are left to sends and to the look-up of credentials. */
  heavy: number;
  light: number;
};

const ALONE: Shares = { pool: 16, strangers: 2, requests: 10, heavy: 3, light: 5 };
const OF_TWO: Shares = { pool: 13, strangers: 2, requests: 7, heavy: 2, light: 3 };
const OF_MORE: Shares = { pool: 11, strangers: 1, requests: 6, heavy: 2, light: 2 };

export const sharesOf = (workers: number): Shares => (workers === 1 ? ALONE : workers === 2 ? OF_TWO : OF_MORE);
