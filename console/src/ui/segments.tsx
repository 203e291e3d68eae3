/** The number of segments and characters of a text, with its encoding. */
import type { Message } from "godwit-sdk";
import type { JSX } from "preact";
import { plural } from "../lib/format.ts";

const ENCODINGS: Readonly<Record<string, string>> = { gsm7: "GSM 7-bit", ucs2: "UCS-2" };

export const Segments = ({ of }: { of: NonNullable<Message["segments"]> }): JSX.Element => (
  <>
    {plural(of.count, "segment")} · {plural(of.characters, "character")} · {ENCODINGS[of.encoding] ?? of.encoding}
  </>
);
