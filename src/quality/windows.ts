/** The times of measurement. All follow from one, so that a test can shorten them together. */

export type Windows = {
  /** After this time an outcome counts half in the choice of a link. */
  halfLifeMs: number;
  /** Messages that were sent within this time are one cohort. */
  cohortMs: number;
  /** A message without a report counts as a failure after twice the mean time to the receipts of its link, and within these bounds. */
  overdueMs: { least: number; most: number };
  /** Outcomes of messages that were sent before this time are forgotten. */
  windowMs: number;
  /** How often a process stores its counts, and reads those of all. */
  turnMs: number;
};

/** With a half-life of a minute: cohorts of ten seconds, a window of a quarter of an hour, a turn every five seconds, and messages
 *  that are overdue after twenty seconds to a minute. */
export const windowsOf = (halfLifeMs: number): Windows => ({
  halfLifeMs,
  cohortMs: halfLifeMs / 6,
  overdueMs: { least: halfLifeMs / 3, most: halfLifeMs },
  windowMs: halfLifeMs * 15,
  turnMs: halfLifeMs / 12,
});

/** The beginning of the cohort of a time. */
export const cohortOf = ({ cohortMs }: Windows, timeMs: number): number => Math.floor(timeMs / cohortMs) * cohortMs;
