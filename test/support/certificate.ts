/** A minimal self-signed certificate, encoded as DER in this file, with a chosen validity. No tool for certificates has to be installed. */
import { generateKeyPairSync, sign } from "node:crypto";

const [INTEGER, BITS, OID, TIME, SEQUENCE] = [0x02, 0x03, 0x06, 0x17, 0x30];

const der = (tag: number, ...parts: readonly Buffer[]): Buffer => {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(content.length < 128 ? [tag, content.length] : [tag, 0x81, content.length]), content]);
};

/** UTCTime such as 200101000000Z, which ends with the year 2049. */
const time = (at: Date): Buffer => der(TIME, Buffer.from(`${at.toISOString().replaceAll(/[-:T]/g, "").slice(2, 14)}Z`));

export function selfSigned({ from = new Date("2020-01-01"), to = new Date("2049-12-31") } = {}): { cert: string; key: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const ed25519 = der(SEQUENCE, der(OID, Buffer.from([0x2b, 0x65, 0x70])));
  const emptyName = der(SEQUENCE);
  const body = der(
    SEQUENCE,
    der(INTEGER, Buffer.of(1)),
    ed25519,
    emptyName,
    der(SEQUENCE, time(from), time(to)),
    emptyName,
    publicKey.export({ type: "spki", format: "der" }),
  );
  const certificate = der(SEQUENCE, body, ed25519, der(BITS, Buffer.of(0), sign(null, body, privateKey)));
  const lines = certificate.toString("base64").match(/.{1,64}/g) ?? [];
  return {
    cert: ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n"),
    key: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
  };
}
