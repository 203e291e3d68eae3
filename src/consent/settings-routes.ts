/** The HTTP routes of consent settings. */
import { route, toResponse, type Route } from "../api/route.ts";
import type { ConsentSettingsChanger } from "./change-settings.ts";
import { ConsentChangeBody, ConsentSettingsRecord, wordFaults } from "./consent-settings.ts";

const TAG = { tag: "Suppressions and consent", path: "/v1/consent_settings" } as const;

export const consentSettingsRoutes = (changer: ConsentSettingsChanger): Route[] => [
  route({
    ...TAG,
    method: "GET",
    scope: "suppressions:read",
    isIdempotent: false,
    summary: "Retrieve the consent settings",
    description:
      "Returns the opt-out words and the automatic replies of this environment. A setting that you have not changed comes from the configuration file of the operator, or is built in. See [Consent](/docs/consent).",
    reply: { status: 200, description: "The settings.", schema: ConsentSettingsRecord },
    problems: [],
    handle: async ({ credential }) => ({ status: 200, body: await changer.read(credential) }),
  }),
  route({
    ...TAG,
    method: "PATCH",
    scope: "suppressions:write",
    isIdempotent: true,
    summary: "Update the consent settings",
    description:
      "Replaces the given settings; settings that are absent or null stay unchanged. The English opt-out words cannot be removed, and a word can be in one list only. The new settings apply to inbound messages that arrive after the response. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Automatic replies](/docs/consent#automatic-replies).",
    body: ConsentChangeBody,
    check: wordFaults,
    reply: { status: 200, description: "The settings after the change.", schema: ConsentSettingsRecord },
    problems: [],
    handle: async (call) => toResponse(await changer.change(call, call.body)),
  }),
];
