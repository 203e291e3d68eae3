/** Twilio's Lookup: the format and the country of a number. The service asks no carrier, so it knows nothing else, and says so. */
import { describeNumber } from "../model/phone-number.ts";
import { unsupported } from "./errors.ts";
import { requireKnown, valueOf } from "./forms.ts";
import { jsonReply, type TwilioRow } from "./twilio-route.ts";

const KNOWN = new Set(["Fields", "CountryCode"]);
const LINE_TYPE = "line_type_intelligence";
// Twilio's error for a number whose type it does not know.
const UNKNOWN_TYPE = 60600;

export const lookupRows = (): TwilioRow[] => [
  {
    method: "GET",
    path: "/v2/PhoneNumbers/{PhoneNumber}",
    operationId: "twilioFetchPhoneNumber",
    scope: "messages:send",
    handle: async ({ params, parameters, baseUrl }) => {
      requireKnown(parameters, KNOWN);
      const country = valueOf(parameters, "CountryCode");
      const fields = (valueOf(parameters, "Fields") ?? "").split(",").filter((field) => field !== "" && field !== "validation");
      const refused = fields.filter((field) => field !== LINE_TYPE);
      if (refused.length > 0) throw unsupported([`Fields=${refused.join(",").slice(0, 100)}`]);
      const { PhoneNumber: text = "" } = params;
      const { number, callingCode, country: of, national, faults } = describeNumber(text, country);
      return jsonReply({
        calling_country_code: callingCode,
        country_code: of,
        phone_number: number ?? text,
        national_format: national,
        valid: faults.length === 0,
        validation_errors: faults,
        caller_name: null,
        sim_swap: null,
        call_forwarding: null,
        line_status: null,
        line_type_intelligence: fields.includes(LINE_TYPE) ? NO_LINE_TYPE : null,
        identity_match: null,
        reassigned_number: null,
        sms_pumping_risk: null,
        phone_number_quality_score: null,
        pre_fill: null,
        url: `${baseUrl}/v2/PhoneNumbers/${encodeURIComponent(number ?? text)}`,
      });
    },
  },
];

const NO_LINE_TYPE = {
  carrier_name: null,
  error_code: UNKNOWN_TYPE,
  mobile_country_code: null,
  mobile_network_code: null,
  type: null,
};
