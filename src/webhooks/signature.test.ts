import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { newSecret, signatureOf, signingKey } from "./signature.ts";

test("the published example has the published signature", () => {
  const signed = { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: "1614265330", body: '{"test": 2432232314}' };
  const key = signingKey("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  assert.equal(signatureOf(signed, [key]), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
});

test("a new secret is 32 random bytes in base64, after its prefix", () => {
  const secrets = Array.from({ length: 50 }, newSecret);
  assert.equal(new Set(secrets).size, 50);
  for (const secret of secrets) {
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.equal(signingKey(secret).symmetricKeySize, 32);
    assert.equal(`whsec_${signingKey(secret).export().toString("base64")}`, secret);
  }
});

type Verify = (secret: string, body: string, headers: Record<string, string>) => void;

// The published package that receivers use. Throws when a signature is not valid.
const RECEIVERS: readonly (readonly [name: string, verify: Verify])[] = [
  ["standardwebhooks", (secret, body, headers) => new StandardWebhook(secret).verify(body, headers)],
  ["svix", (secret, body, headers) => new SvixWebhook(secret).verify(body, headers)],
];

const ID = "evt_01k5x0v9m3e7w9q2r8t4y6z1ab";
const BODY = JSON.stringify({ type: "message.delivered", data: { text: 'naïve "🔑"\n', sequence: 3 } });
const nowSeconds = (): string => String(Math.floor(Date.now() / 1_000));

const headersBy = (...secrets: string[]): Record<string, string> => {
  const timestamp = nowSeconds();
  const signature = signatureOf({ id: ID, timestamp, body: BODY }, secrets.map(signingKey));
  return { "webhook-id": ID, "webhook-timestamp": timestamp, "webhook-signature": signature };
};

for (const [name, verify] of RECEIVERS) {
  describe(`a receiver with ${name}`, () => {
    test("verifies a signature of a new secret", () => {
      const secret = newSecret();
      verify(secret, BODY, headersBy(secret));
    });

    test("verifies with the old secret or the new one while both sign", () => {
      const [old, fresh] = [newSecret(), newSecret()];
      const headers = headersBy(fresh, old);
      assert.match(headers["webhook-signature"] ?? "", /^v1,[A-Za-z0-9+/]{43}= v1,[A-Za-z0-9+/]{43}=$/);
      for (const secret of [old, fresh]) verify(secret, BODY, headers);
      assert.throws(() => verify(newSecret(), BODY, headers), /No matching signature/);
    });

    test("refuses another body, id, time or secret", () => {
      const secret = newSecret();
      const headers = headersBy(secret);
      const earlier = String(Number(headers["webhook-timestamp"]) - 1);
      assert.throws(() => verify(secret, `${BODY} `, headers), /No matching signature/);
      assert.throws(() => verify(secret, BODY, { ...headers, "webhook-id": `${ID}x` }), /No matching signature/);
      assert.throws(() => verify(secret, BODY, { ...headers, "webhook-timestamp": earlier }), /No matching signature/);
      assert.throws(() => verify(newSecret(), BODY, headers), /No matching signature/);
    });
  });
}
