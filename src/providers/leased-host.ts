/** What a provider may ask of us besides, when one node has its link at a time. */
import type { Host } from "./provider.ts";

export type LeasedHost = Host & {
  /** False from the moment the link may be another node's: then nothing more is written. Asked right before the bytes leave, since
   *  a process may stand still between any two lines, and wake up when another has taken over. Left out where nobody else has it. */
  isOurs?(): boolean;
  /** What the carrier called the last messages of this link, whichever node sent them, the oldest first. */
  recentNames?(): Promise<readonly string[]>;
};

export const isOurs = (host: LeasedHost): boolean => host.isOurs?.() ?? true;
