/** After an opt-out in any supported form, on any channel, no message to the person becomes `sending`. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { ALWAYS, DEFAULT_LANGUAGES, LANGUAGES } from "../../src/consent/word-lists.ts";
import type { Delivery } from "../../src/delivery/delivery.ts";
import { LINK, Rig } from "../support/delivery-rig.ts";
import { recipientNo } from "../support/recipient.ts";
import { ScriptedCarrier } from "../support/scripted-carrier.ts";

const OURS = "+15005550000";
// Each run needs a message that is sent, and one that waits.
const RUNS = 60;

let rig: Rig;
let carrier: ScriptedCarrier;
let delivery: Delivery;
before(async () => {
  rig = await Rig.open();
  carrier = new ScriptedCarrier();
  delivery = await rig.deliver({ [LINK]: carrier });
});
after(() => rig[Symbol.asyncDispose]());

const WORDS = [...ALWAYS.out, ...DEFAULT_LANGUAGES.flatMap((language) => LANGUAGES[language].out)];
const padding = fc.string({
  unit: fc.constantFrom(" ", "\n", "\u00a0", "\u200b", "\ufeff", ".", "!", "¡", "“", "-", "🛑", "\0"),
  maxLength: 6,
});
const casing = fc.constantFrom<(word: string) => string>(
  (word) => word,
  (word) => word.toLowerCase(),
  (word) => word.toUpperCase(),
  (word) => word.normalize("NFD"),
  (word) => word.normalize("NFC"),
  (word) => word.replaceAll(" ", "-"),
  (word) => word.replaceAll(" ", ""),
  (word) => word.replaceAll(/[A-Z]/g, (letter) => String.fromCodePoint((letter.codePointAt(0) ?? 0) + 0xfee0)),
);
const forms = fc.tuple(padding, fc.constantFrom(...WORDS), casing, padding).map(([left, word, write, right]) => left + write(word) + right);

test("an opt-out word in any form stops a message that waits, and refuses the next one", async () => {
  let people = 0;
  await fc.assert(
    fc.asyncProperty(forms, fc.constantFrom("sms" as const, "whatsapp" as const), async (text, channel) => {
      const recipient = recipientNo((people += 1));
      const request = { recipient, channel, sender: OURS };
      const first = await rig.untilStatus(await rig.accept(request, { handover: delivery.handover }), "sent");
      carrier.beforeTurn = () => ({ kind: "throttled", scope: "recipient", retryAfterMs: 1, providerCode: null });
      const waiting = await rig.accept(request, { handover: delivery.handover });
      const inbound = { providerMessageId: `in-${people}`, channel, from: recipient, to: OURS, text };
      await carrier.host.receiveMessages([{ ...inbound, inReplyTo: first.provider?.messageId ?? null }]);
      carrier.beforeTurn = () => undefined;
      const { error } = await rig.untilStatus(waiting, "failed");
      assert.equal(error?.code, "recipient_opted_out");
      assert.equal(carrier.sendsTo(recipient).length, 1);
      await assert.rejects(rig.accept(request));
    }),
    { numRuns: RUNS },
  );
});
