/** The sections of the console in the order of the menu, each with the scope that it requires. */

export type Section = { path: string; title: string; scope: string };

export const SECTIONS: readonly Section[] = [
  { path: "", title: "Overview", scope: "usage:read" },
  { path: "messages", title: "Messages", scope: "messages:read" },
  { path: "conversations", title: "Conversations", scope: "messages:read" },
  { path: "send", title: "Send", scope: "messages:send" },
  { path: "bulk", title: "Bulk send", scope: "messages:send" },
  { path: "batches", title: "Batches", scope: "messages:read" },
  { path: "verifications", title: "Verifications", scope: "verifications:read" },
  { path: "templates", title: "Templates", scope: "templates:read" },
  { path: "media", title: "Media", scope: "media:read" },
  { path: "endpoints", title: "Webhooks", scope: "webhooks:read" },
  { path: "suppressions", title: "Suppressions", scope: "suppressions:read" },
  { path: "usage", title: "Usage", scope: "usage:read" },
  { path: "carriers", title: "Carriers", scope: "links:read" },
  { path: "keys", title: "Keys", scope: "keys:read" },
  { path: "requests", title: "Requests", scope: "audit:read" },
  { path: "audit", title: "Audit log", scope: "audit:read" },
];
