/** The scores of links: how many of the messages that they carried lately reached their recipients. */
import { networkOf } from "./network.ts";
import type { DecayedRow } from "./queries.ts";

/** `rate`: the share that was delivered, with some results assumed. `results`: how many messages it is based on, fewer for older ones. */
export type Score = { rate: number; results: number };

type Sums = { delivered: number; failed: number; overdue: number };

// A level with fewer results says little about the next message; the level above it is used.
const MIN_RESULTS = 20;
// Assumed in addition: nine messages of ten were delivered. A link without results gets a score by it, and few results change it little.
const ASSUMED_DELIVERED = 9;
const ASSUMED_RESULTS = 10;

export const scoreOf = ({ delivered, failed, overdue }: Sums): Score => {
  const results = delivered + failed + overdue;
  return { rate: (delivered + ASSUMED_DELIVERED) / (results + ASSUMED_RESULTS), results };
};

const UNMEASURED: Score = scoreOf({ delivered: 0, failed: 0, overdue: 0 });

/** The scores at one time, for each link, for each country on it and for each prefix. */
export class LinkScores {
  readonly #levels = new Map<string, Score>();

  constructor(rows: readonly DecayedRow[]) {
    const sums = new Map<string, Sums>();
    // A carrier that reports nothing at all is not measured: its messages are not overdue.
    const reporting = new Set(rows.filter(({ reports }) => reports > 0).map(({ link }) => link));
    for (const row of rows) {
      const overdue = reporting.has(row.link) ? row.overdue : 0;
      for (const level of levelsOf(row.link, row)) {
        const before = sums.get(level) ?? { delivered: 0, failed: 0, overdue: 0 };
        sums.set(level, {
          delivered: before.delivered + row.delivered,
          failed: before.failed + row.failed,
          overdue: before.overdue + overdue,
        });
      }
    }
    // A count that a crash has lost can make a sum negative.
    for (const [level, sum] of sums) this.#levels.set(level, scoreOf({ ...sum, overdue: Math.max(0, sum.overdue) }));
  }

  /** The score of a link for a recipient: that of its prefix or its country, if there are enough results, or of the link. */
  of(link: string, recipient: string): Score {
    const levels = levelsOf(link, networkOf(recipient));
    const measured = levels.map((level) => this.#levels.get(level)).find((score) => score !== undefined && score.results >= MIN_RESULTS);
    return measured ?? this.#levels.get(link) ?? UNMEASURED;
  }
}

/** The levels of a network on a link, the most specific first. */
const levelsOf = (link: string, { country, prefix }: { country: string; prefix: string }): string[] => [
  ...(prefix === "" ? [] : [`${link} ${country} ${prefix}`]),
  ...(country === "" ? [] : [`${link} ${country}`]),
  link,
];

export const NO_SCORES = new LinkScores([]);
