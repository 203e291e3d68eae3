/** Withdraws the consent of the recipients who have opted out. Run it once a day. */
import { Godwit } from "godwit-sdk";
import { readRecipients, writeRecipients } from "./recipients.ts";

const godwit = new Godwit();
const optedOut = new Set<string>();
for await (const { recipient } of godwit.suppressions.list({ limit: 100 })) optedOut.add(recipient);

const recipients = readRecipients();
for (const recipient of recipients) {
  if (recipient.consentAt === "" || !optedOut.has(recipient.phone)) continue;
  recipient.consentAt = "";
  console.log(`${recipient.phone} has opted out`);
}
writeRecipients(recipients);
