/** The functions of the media store that messages use. */
import type { Tx } from "../database/database.ts";
import type { Problem } from "../http/problem.ts";
import type { MediaId } from "../model/id.ts";
import type { Owner } from "../model/owner.ts";
import type { OutgoingMedia } from "../providers/carrier-file.ts";
import type { ReadyMedia } from "./media.ts";

export type MediaLibrary = {
  /** The media of an owner. Undefined if there are none with that id, or if they cannot be sent yet. */
  find: (owner: Owner, id: MediaId) => Promise<ReadyMedia | undefined>;
  /** Keeps media for their retention after the last time at which a message with them can be sent. Returns false if they were deleted. */
  keep: (owner: Owner, id: MediaId, lastMs: number, tx?: Tx) => Promise<boolean>;
  /** Fetches a file and stores it, or returns why that is not possible. The media end after an hour unless a message keeps them. */
  fetch: (owner: Owner, url: string, fileName: string | null) => Promise<ReadyMedia | Problem>;
  /** Returns why the file behind a URL is never fetched, as far as the URL tells. */
  fetchRefusal: (url: string) => Problem | undefined;
  /** The file of a message on its way to a carrier, and from now on to this recipient. Undefined if the media were deleted. */
  outgoing: (owner: Owner, id: MediaId, recipient: string) => Promise<OutgoingMedia | undefined>;
};
