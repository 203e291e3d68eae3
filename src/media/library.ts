/** The functions of the media store that messages use. */
import type { Tx } from "../database/database.ts";
import type { Problem } from "../http/problem.ts";
import type { MediaId } from "../model/id.ts";
import type { Owner } from "../model/owner.ts";
import type { OutgoingMedia } from "../providers/carrier-file.ts";
import type { ReadyMedia } from "./media.ts";

/** A message that uses media: its recipient, and the last time at which it can be sent. The media are kept for their retention after that. */
export type MediaUse = { recipient: string; atMs: number };

export type MediaLibrary = {
  /** The media of an owner, which the message will use. Undefined if there are none with that id, or if they cannot be sent yet. */
  use: (owner: Owner, id: MediaId, use: MediaUse) => Promise<ReadyMedia | undefined>;
  /** Keeps media for a message whose time was changed. Does nothing if they were deleted. */
  keep: (tx: Tx, owner: Owner, id: MediaId, use: MediaUse) => Promise<void>;
  /** Fetches a file and stores it, or returns why that is not possible. */
  fetch: (owner: Owner, url: string, use: MediaUse & { fileName: string | null }) => Promise<ReadyMedia | Problem>;
  /** Returns why the file behind a URL is never fetched, as far as the URL tells. */
  fetchRefusal: (url: string) => Problem | undefined;
  /** The file of a message on its way to a carrier. Undefined if the media were deleted. */
  outgoing: (owner: Owner, id: MediaId) => Promise<OutgoingMedia | undefined>;
};
