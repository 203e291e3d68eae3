/** When a certificate chain ends: with the first of its certificates, since a client needs them all. */
import { X509Certificate } from "node:crypto";

const BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

export const certificateEnd = (chain: Buffer): Date =>
  new Date(Math.min(...Array.from(chain.toString("latin1").matchAll(BLOCK), ([pem]) => new X509Certificate(pem).validToDate.getTime())));
