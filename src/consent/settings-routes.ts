/** The HTTP routes of consent settings. */
import { route, toResponse, type Route } from "../api/route.ts";
import type { ConsentSettingsChanger } from "./change-settings.ts";
import { ConsentChangeBody, ConsentSettingsRecord, wordFaults } from "./consent-settings.ts";

const TAG = { tag: "Suppressions", path: "/v1/consent_settings" } as const;

export const consentSettingsRoutes = (changer: ConsentSettingsChanger): Route[] => [
  route({
    ...TAG,
    method: "GET",
    scope: "suppressions:read",
    isIdempotent: false,
    summary: "Read the consent settings",
    description: "The settings of this environment: those that you have set, else those of the operator's file, else the built-in ones.",
    reply: { status: 200, description: "The settings.", schema: ConsentSettingsRecord },
    problems: [],
    handle: async ({ credential }) => ({ status: 200, body: await changer.read(credential) }),
  }),
  route({
    ...TAG,
    method: "PATCH",
    scope: "suppressions:write",
    isIdempotent: true,
    summary: "Change the consent settings",
    description:
      "Replaces the given members; the others stay. The words that opt out in English cannot be removed. A word of two lists is refused. Inbound messages that arrive after the response follow the new settings.",
    body: ConsentChangeBody,
    check: wordFaults,
    reply: { status: 200, description: "The settings.", schema: ConsentSettingsRecord },
    problems: [],
    handle: async (call) => toResponse(await changer.change(call, call.body)),
  }),
];
