/** What is tried when a message does not get delivered, as it is kept until then. */
import type { Channel } from "../links/channel.ts";

/** Decided when the message was accepted: a template that changes meanwhile changes nothing. */
export type Step<Content> = {
  channel: Channel;
  content: Content;
  /** What the record shows in its place, where the content is a secret. */
  shown: Content | null;
  /** The message before has so long to get delivered. */
  afterSeconds: number;
};

/** The steps as JSON, sealed where they hold a secret, and when the first of them is due if nothing comes before. */
export type NewFallback = { steps: string; dueAtMs: number };
