/** A minimal self-signed certificate, encoded as DER in this file, with a chosen validity. No tool for certificates has to be installed. */
import { generateKeyPairSync, randomBytes, sign } from "node:crypto";

const [INTEGER, BITS, OID, TIME, SEQUENCE] = [0x02, 0x03, 0x06, 0x17, 0x30];

const der = (tag: number, ...parts: readonly Buffer[]): Buffer => {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(content.length < 128 ? [tag, content.length] : [tag, 0x81, content.length]), content]);
};

/** UTCTime such as 200101000000Z, which ends with the year 2049. */
const time = (at: Date): Buffer => der(TIME, Buffer.from(`${at.toISOString().replaceAll(/[-:T]/g, "").slice(2, 14)}Z`));

/** The extension `subjectAltName` with an IPv4 address. Only a certificate of version 3 has extensions. */
const named = (address: string): Buffer => {
  const names = der(SEQUENCE, der(0x87, Buffer.from(address.split(".").map(Number))));
  return der(0xa3, der(SEQUENCE, der(SEQUENCE, der(OID, Buffer.of(0x55, 0x1d, 0x11)), der(0x04, names))));
};

/** `address`: the IPv4 address that the certificate is for. */
export function selfSigned({
  from = new Date("2020-01-01"),
  to = new Date("2049-12-31"),
  address,
}: { from?: Date; to?: Date; address?: string } = {}): {
  cert: string;
  key: string;
} {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const ed25519 = der(SEQUENCE, der(OID, Buffer.from([0x2b, 0x65, 0x70])));
  const emptyName = der(SEQUENCE);
  const body = der(
    SEQUENCE,
    ...(address === undefined ? [] : [der(0xa0, der(INTEGER, Buffer.of(2)))]),
    der(INTEGER, Buffer.of(1)),
    ed25519,
    emptyName,
    der(SEQUENCE, time(from), time(to)),
    emptyName,
    publicKey.export({ type: "spki", format: "der" }),
    ...(address === undefined ? [] : [named(address)]),
  );
  const certificate = der(SEQUENCE, body, ed25519, der(BITS, Buffer.of(0), sign(null, body, privateKey)));
  const lines = certificate.toString("base64").match(/.{1,64}/g) ?? [];
  return {
    cert: ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n"),
    key: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
  };
}

/** Diffie-Hellman parameters with a modulus of this size. It need not be a prime to be expensive. */
export function dhParameters(bits: number): string {
  const modulus = randomBytes(bits / 8);
  modulus[0] = 0x7f;
  modulus[modulus.length - 1] = 0xff;
  const lengthOf = (size: number): Buffer => Buffer.from([0x82, size >> 8, size & 0xff]);
  const numbers = Buffer.concat([Buffer.from([INTEGER]), lengthOf(modulus.length), modulus, Buffer.from([INTEGER, 1, 2])]);
  const text = Buffer.concat([Buffer.from([SEQUENCE]), lengthOf(numbers.length), numbers]).toString("base64");
  return `-----BEGIN DH PARAMETERS-----\n${text.replaceAll(/.{64}/g, "$&\n")}\n-----END DH PARAMETERS-----\n`;
}
