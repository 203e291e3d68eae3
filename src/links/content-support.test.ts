/** Properties of the table of contents: the answers for a channel, for a provider and for a file agree with each other. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MEDIA_KINDS } from "../model/content.ts";
import type { ProviderName } from "../providers/providers.ts";
import { CHANNELS, type Channel } from "./channel.ts";
import { channelFault, fileFault, largestFile, providerFault, providerFileFault, type Need } from "./content-support.ts";

const PROVIDERS: readonly ProviderName[] = ["http", "simulator", "smpp", "twilio", "whatsapp"];
const TYPES = ["text", "media", "buttons", "list", "location", "contacts", "reaction", "template"] as const;

const channel = fc.constantFrom(...CHANNELS);
const provider = fc.constantFrom(...PROVIDERS);
const kind = fc.constantFrom(...MEDIA_KINDS);
const need: fc.Arbitrary<Need> = fc.record({
  type: fc.constantFrom(...TYPES),
  kind: fc.option(kind, { nil: undefined }),
  hasCaption: fc.boolean(),
  isQuote: fc.boolean(),
});
const file = fc.record({
  contentType: fc.constantFrom("image/jpeg", "image/webp", "audio/ogg", "audio/aiff", "video/mp4", "application/pdf", "text/html"),
  bytes: fc.integer({ min: 1, max: 200_000_000 }),
});

const carriers = (of: Channel, needed: Need): ProviderName[] => PROVIDERS.filter((each) => providerFault(each, of, needed) === undefined);

test("every link carries a text", () => {
  for (const each of CHANNELS) assert.deepEqual(carriers(each, { type: "text" }), PROVIDERS);
});

test("a channel carries what one of its providers carries, and names a reason for anything else", () => {
  fc.assert(
    fc.property(channel, need, (of, needed) => {
      fc.pre(needed.type !== "text" || needed.isQuote === true);
      const fault = channelFault(of, needed);
      assert.equal(fault === undefined, carriers(of, needed).length > 0, JSON.stringify(needed));
      if (fault !== undefined) assert.match(fault, new RegExp(`^cannot be sent on ${of}: \\w`));
    }),
  );
});

test("a message that asks for less is carried wherever one that asks for more is", () => {
  fc.assert(
    fc.property(channel, provider, need, (of, by, needed) => {
      fc.pre(providerFault(by, of, needed) === undefined);
      assert.equal(providerFault(by, of, { ...needed, isQuote: false }), undefined);
      assert.equal(providerFault(by, of, { ...needed, hasCaption: false }), undefined);
    }),
  );
});

test("a file that a link sends is one of its channel, not larger than any file may be, and may be smaller", () => {
  fc.assert(
    fc.property(channel, provider, kind, file, (of, by, as, { contentType, bytes }) => {
      fc.pre(providerFileFault(by, of, as, { contentType, bytes }) === undefined);
      assert.equal(providerFault(by, of, { type: "media", kind: as }), undefined);
      assert.equal(fileFault(of, as, { contentType, bytes }), undefined);
      assert.ok(bytes <= largestFile(as));
      assert.equal(providerFileFault(by, of, as, { contentType, bytes: 1 }), undefined);
      assert.match(String(fileFault(of, as, { contentType, bytes: largestFile(as) + 1 })), /^has [\d,]+ bytes: \w+ may have [\d,]+$/);
    }),
  );
});
