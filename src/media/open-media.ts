/** Assembles the media store. */
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { AddressGate } from "../outbound/address-gate.ts";
import { MediaFetcher } from "./fetch-file.ts";
import type { MediaWatch } from "./metrics.ts";
import { databasePlace, type FilePlace } from "./places.ts";
import { FileReceiver } from "./receive-file.ts";
import { FileServer } from "./serve-file.ts";
import { mediaUrls, type MediaUrls } from "./signed-url.ts";
import { MediaStore } from "./store.ts";

type MediaSettings = {
  /** The time for which media are kept after their last use. */
  retentionMs: number;
  /** The bytes that the files of an environment may have. */
  quotaBytes: number;
};

export type OpenMedia = {
  store: MediaStore;
  receiver: FileReceiver;
  files: FileServer;
  urls: MediaUrls;
  /** The places that may have files. */
  places: readonly FilePlace[];
};

type MediaParts = MediaSettings & {
  db: Database;
  clock: Clock;
  box: SecretBox;
  gate: AddressGate;
  onError: (error: unknown) => void;
  watch: MediaWatch;
};

// Uploads and downloads wait for each other here, and leave the connections of the pool to messages.
const BYTES_SHARE = { maxConnections: 4, maxWaiting: 500 };

export function openMedia({ db, clock, box, gate, onError, watch, ...settings }: MediaParts): OpenMedia {
  const bytesDb = db.share(BYTES_SHARE);
  const place = databasePlace(bytesDb, clock);
  const receiver = new FileReceiver({ db: bytesDb, clock, place, onError });
  const fetcher = new MediaFetcher({ gate, watch });
  const urls = mediaUrls(box);
  const store = new MediaStore({ db, clock, receiver, place, fetcher, urls, watch, ...settings });
  return { store, receiver, files: new FileServer(place), urls, places: [place] };
}
