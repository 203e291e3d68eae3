/** Colours, for a terminal that has some and whose owner wants them: not in a pipe, and not where NO_COLOR is set. */
import { styleText } from "node:util";

export type Colour = "green" | "yellow" | "red" | "dim";

export const paint = (colour: Colour, text: string): string => styleText(colour, text, { stream: process.stdout });

const COLOURS: Readonly<Record<string, Colour>> = {
  delivered: "green",
  read: "green",
  received: "green",
  failed: "red",
  undelivered: "red",
  expired: "red",
  disabled: "red",
  rejected: "red",
  canceled: "yellow",
  paused: "yellow",
  opted_out: "yellow",
};

/** A status in its colour; `text` is the status with what stands beside it. */
export const paintStatus = (status: string, text = status): string => {
  const colour = COLOURS[status];
  return colour === undefined ? text : paint(colour, text);
};
