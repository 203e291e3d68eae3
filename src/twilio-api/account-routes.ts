/** Twilio's Accounts: the account of the credential, and nothing else. */
import type { Database } from "../database/database.ts";
import { requireKnown } from "./forms.ts";
import { API_VERSION, rfc2822 } from "./message-resource.ts";
import { findAccount } from "./queries.ts";
import { jsonReply, notFound, type TwilioRow } from "./twilio-route.ts";

export const accountRows = ({ db }: { db: Database }): TwilioRow[] => [
  {
    method: "GET",
    path: "/2010-04-01/Accounts/{AccountSid}.json",
    operationId: "twilioFetchAccount",
    scope: null,
    handle: async ({ credential: { accountId }, accountSid, parameters, path }) => {
      requireKnown(parameters);
      const account = await findAccount(db, accountId);
      if (account === undefined) throw notFound(path);
      const createdAt = rfc2822(account.created_at.toISOString());
      const uri = `/${API_VERSION}/Accounts/${accountSid}`;
      return jsonReply({
        auth_token: null,
        date_created: createdAt,
        date_updated: createdAt,
        friendly_name: account.name,
        owner_account_sid: accountSid,
        sid: accountSid,
        status: "active",
        subresource_uris: { messages: `${uri}/Messages.json` },
        type: "Full",
        uri: `${uri}.json`,
      });
    },
  },
];
