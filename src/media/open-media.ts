/** Assembles the media store. */
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Uuid } from "../lib/uuid.ts";
import type { AddressGate } from "../outbound/address-gate.ts";
import { reportError, type Log } from "../model/log.ts";
import { MediaBucket } from "./bucket.ts";
import type { BucketSettings } from "./bucket-settings.ts";
import { MediaFetcher } from "./fetch-file.ts";
import type { MediaWatch } from "./metrics.ts";
import { databasePlace, FilePlaces } from "./places.ts";
import { touchFile } from "./queries.ts";
import { FileReceiver } from "./receive-file.ts";
import { FileServer } from "./serve-file.ts";
import { mediaUrls, type MediaUrls } from "./signed-url.ts";
import { MediaStore } from "./store.ts";

type MediaSettings = {
  /** The time for which media are kept after their last use. */
  retentionMs: number;
  /** The bytes that the files of an environment may have. */
  quotaBytes: number;
  /** The bucket for new files. Undefined: they are stored in the database. */
  bucket: BucketSettings | undefined;
};

export type OpenMedia = {
  store: MediaStore;
  receiver: FileReceiver;
  files: FileServer;
  urls: MediaUrls;
  places: FilePlaces;
};

type MediaParts = MediaSettings & {
  db: Database;
  clock: Clock;
  box: SecretBox;
  gate: AddressGate;
  onError: (error: unknown) => void;
  log: Log;
  watch: MediaWatch;
};

// Uploads and downloads wait for each other here, and leave the connections of the pool to messages.
const BYTES_SHARE = { maxConnections: 4, maxWaiting: 500 };

export function openMedia({ db, clock, box, gate, onError, log, watch, bucket: settings, ...limits }: MediaParts): OpenMedia {
  const bytesDb = db.share(BYTES_SHARE);
  const database = databasePlace(bytesDb, clock);
  const touch = async (fileId: Uuid): Promise<boolean> => (await touchFile(bytesDb, fileId, clock.now())).length > 0;
  const bucket =
    settings &&
    new MediaBucket({ ...settings, touch, onFailed: reportError(log, "media.bucket_failed", "the bucket of files cannot be used") });
  // The client is loaded, and a fault of the settings is reported, before the first file. `call` has reported the error.
  bucket?.check().catch(() => undefined);
  const places = bucket === undefined ? new FilePlaces(bytesDb, database) : new FilePlaces(bytesDb, bucket, [database]);
  const receiver = new FileReceiver({ db: bytesDb, clock, place: places.newest, onError });
  const fetcher = new MediaFetcher({ gate, watch });
  const urls = mediaUrls(box);
  const store = new MediaStore({ db, clock, receiver, places, fetcher, urls, watch, ...limits });
  return { store, receiver, files: new FileServer(places), urls, places };
}
