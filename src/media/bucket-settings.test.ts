import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readBucket } from "./bucket-settings.ts";

type Texts = { mediaBucket?: string; mediaBucketRegion?: string; mediaBucketKeyId?: string; mediaBucketSecret?: string };

function read(texts: Texts): { settings: ReturnType<typeof readBucket>; faults: string[] } {
  const faults: string[] = [];
  const settings = readBucket((name) => ({ text: texts[name], from: name }), faults);
  return { settings, faults };
}

test("a bucket is an endpoint and a name", () => {
  const whole = {
    mediaBucket: "https://s3.example.com:9000/my-media/",
    mediaBucketRegion: "eu",
    mediaBucketKeyId: "id",
    mediaBucketSecret: "s",
  };
  assert.deepEqual(read(whole), {
    settings: {
      endpoint: "https://s3.example.com:9000",
      name: "my-media",
      region: "eu",
      credentials: { accessKeyId: "id", secretAccessKey: "s" },
    },
    faults: [],
  });
});

test("without a key, the client finds the credentials", () =>
  assert.deepEqual(read({ mediaBucket: "http://127.0.0.1/media" }).settings?.credentials, undefined));

test("the other settings have no effect without a bucket", () =>
  assert.deepEqual(read({ mediaBucketSecret: "s" }), { settings: undefined, faults: [] }));

const FAULTY: readonly (readonly [what: string, texts: Texts, fault: RegExp])[] = [
  ["a name", { mediaBucket: "my-media" }, /^mediaBucket: must be a URL/],
  ["a bucket without TLS on another machine", { mediaBucket: "http://s3.example.com/media" }, /must be https/],
  ["another scheme", { mediaBucket: "s3://my-media/a" }, /must be https/],
  ["an endpoint without a bucket", { mediaBucket: "https://s3.example.com/" }, /the name of the bucket/],
  ["a folder in a bucket", { mediaBucket: "https://s3.example.com/media/files" }, /the name of the bucket/],
  ["a URL with a key", { mediaBucket: "https://id:secret@s3.example.com/media" }, /nothing else/],
  ["a URL with a query", { mediaBucket: "https://s3.example.com/media?region=eu" }, /nothing else/],
  ["a key without a secret", { mediaBucket: "https://a.com/media", mediaBucketKeyId: "id" }, /^GODWIT_MEDIA_BUCKET_SECRET: is needed/],
  ["a secret without a key", { mediaBucket: "https://a.com/media", mediaBucketSecret: "s" }, /^GODWIT_MEDIA_BUCKET_KEY_ID: is needed/],
];

describe("a fault is", () => {
  for (const [what, texts, fault] of FAULTY)
    test(what, () => {
      const { faults } = read(texts);
      assert.equal(faults.length, 1);
      assert.match(faults[0] ?? "", fault);
    });
});
