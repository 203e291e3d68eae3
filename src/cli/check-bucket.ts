/** The check of the bucket for files for `godwit doctor`. */
import { MediaBucket } from "../media/bucket.ts";
import type { BucketSettings } from "../media/bucket-settings.ts";
import { errorMessage, fail, ok, type Check } from "./check.ts";

const CHECK_MS = 8_000;

export async function checkBucket(settings: BucketSettings | undefined): Promise<Check[]> {
  if (settings === undefined) return [];
  const address = `${settings.endpoint}/${settings.name}`;
  let failure: unknown;
  const onFailed = (error: unknown): void => void (failure = error);
  const bucket = new MediaBucket({ ...settings, touch: async () => false, onFailed, timeoutMs: CHECK_MS });
  try {
    await bucket.check();
    return [ok("bucket", `${address} can be used`)];
  } catch {
    const reason = failure instanceof Error && failure.message === "" ? failure.name : errorMessage(failure);
    const hint = "check GODWIT_MEDIA_BUCKET, its region, its key, and the permissions of the key (docs/media.md)";
    return [fail("bucket", `${address} cannot be used: ${reason}`, hint)];
  } finally {
    await bucket.close();
  }
}
