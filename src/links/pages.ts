/** Where carriers speak to us over HTTP: pages, since they bring signatures and no credential of ours. */
import type { Page } from "../api/page.ts";
import { MAX_CARRIER_BODY_BYTES, Receiver, type ReceiverParts } from "./receiver.ts";

export function carrierPages(parts: ReceiverParts): Page[] {
  const receiver = new Receiver(parts);
  return (["GET", "POST"] as const).map((method) => ({
    method,
    path: "/providers/{provider}/{link}",
    maxBodyBytes: MAX_CARRIER_BODY_BYTES,
    render: ({ params, query, headers, url, body }) => receiver.answer(params, { method, url, query, headers, body }),
  }));
}
