/** The recipients, with the day on which each has given consent. A database table in a real application. */
import { readFileSync, writeFileSync } from "node:fs";

export type Recipient = { phone: string; consentAt: string };

const FILE = "recipients.csv";
const HEADER = "phone,consent_at";

export function readRecipients(): Recipient[] {
  const [, ...lines] = readFileSync(FILE, "utf8").trim().split("\n");
  return lines.map((line) => {
    const [phone = "", consentAt = ""] = line.split(",");
    return { phone, consentAt };
  });
}

export function writeRecipients(recipients: readonly Recipient[]): void {
  writeFileSync(FILE, [HEADER, ...recipients.map(({ phone, consentAt }) => `${phone},${consentAt}`), ""].join("\n"));
}
