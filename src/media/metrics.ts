/** The Prometheus metrics of media. */
import type { Registry } from "prom-client";
import type { Database } from "../database/database.ts";
import { gaugesOfDatabase, metricsIn } from "../lib/metrics.ts";
import { MEDIA_SOURCES, type Media } from "./media.ts";
import { allUsedBytes } from "./queries.ts";

const FETCH_OUTCOMES = ["fetched", "failed"] as const;

/** Receives everything that the metrics count. */
export type MediaWatch = {
  /** Media were stored. `isNew`: their bytes were not stored before. */
  stored: (media: Pick<Media, "source" | "bytes">, isNew: boolean) => void;
  fetched: (outcome: (typeof FETCH_OUTCOMES)[number]) => void;
};

export function mediaWatch(registry: Registry): MediaWatch {
  const { counter } = metricsIn(registry);
  const files = counter("godwit_media_stored_total", "Files that were stored, by their source.", { source: MEDIA_SOURCES });
  const bytes = counter("godwit_media_stored_bytes_total", "Bytes of stored files, without those that were stored before.");
  const fetches = counter("godwit_media_fetches_total", "Files behind URLs, by whether they could be fetched.", {
    outcome: FETCH_OUTCOMES,
  });
  return {
    stored({ source, bytes: size }, isNew) {
      files.inc({ source });
      if (isNew) bytes.inc(size ?? 0);
    },
    fetched: (outcome) => fetches.inc({ outcome }),
  };
}

export function watchMediaBytes(registry: Registry, db: Database): void {
  const gauge = gaugesOfDatabase(registry, async () => used.set(await allUsedBytes(db)));
  const used = gauge("godwit_media_bytes", "Bytes of the stored files of all accounts.");
}
