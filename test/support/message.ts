/** Messages for tests of transitions. */
import { newId, NO_ID } from "../../src/model/id.ts";
import { newMessage, type Message } from "../../src/messages/message.ts";
import type { Owner } from "../../src/model/owner.ts";
import { recipientOf } from "./recipient.ts";

/** A message as a request creates it, with the given fields replaced. */
export const messageOf = ({ id = newId("msg", Date.now()), ...fields }: Partial<Omit<Message, keyof Owner>> = {}): Message =>
  newMessage({ accountId: NO_ID, environment: "test" }, id, {
    direction: "outbound",
    channel: "sms",
    recipient: recipientOf("+14155550123"),
    sender: null,
    body: "Your code is 123456",
    status: "queued",
    ...fields,
  });
