/** The page from which carriers fetch the files of messages: `/media/{token}`. The token is the permission. */
import type { Page } from "../api/page.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import { Problem } from "../http/problem.ts";
import { isReady } from "./media.ts";
import { findMediaOfAny } from "./queries.ts";
import type { FileServer } from "./serve-file.ts";
import type { MediaUrls } from "./signed-url.ts";

type MediaPagesParts = { db: Database; clock: Clock; urls: MediaUrls; files: FileServer };

export const mediaPages = ({ db, clock, urls, files }: MediaPagesParts): Page[] => [
  {
    method: "GET",
    path: "/media/{token}",
    render: async ({ params: { token = "" } }) => {
      const id = urls.mediaOf(token, clock.now());
      const media = id && (await findMediaOfAny(db, id));
      // An expired URL, a forged one and one of deleted media look the same.
      if (media === undefined || !isReady(media)) throw new Problem("not_found", { detail: "no such path" });
      return files.serve(media, false);
    },
  },
];
