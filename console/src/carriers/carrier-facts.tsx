/** The properties and the settings of a carrier. Secrets are never shown. */
import type { Link } from "godwit-sdk";
import type { ComponentChildren, JSX } from "preact";
import { formatCount, words } from "../lib/format.ts";
import { CopyButton } from "../ui/copy.tsx";
import { Facts } from "../ui/facts.tsx";
import { Moment } from "../ui/moment.tsx";
import { CreatedBy } from "../ui/resource-link.tsx";
import { pricesOf } from "./carrier-draft.ts";
import { carrierOf } from "./carrier-fields.ts";
import { CarrierState, carrierTitle, deliveryRateOf, isOfOperator, LastError, rateOf, receiptTimeOf, windowOf } from "./carrier-state.tsx";

const moment = (iso: string | null): ComponentChildren => iso !== null && <Moment iso={iso} />;

export const CarrierFacts = ({ link }: { link: Link }): JSX.Element => (
  <section class="card" aria-label="State">
    <h2>State</h2>
    <Facts
      rows={[
        ["State", <CarrierState of={link} />],
        ["Last error", link.last_error !== null && <LastError of={link} />],
        ["Carrier", carrierTitle(link)],
        ["Channels", link.channels.join(", ")],
        ["Default sender", link.sender],
        ["Country", link.country],
        ["Rate", rateOf(link)],
        ["Window", windowOf(link)],
        ["Prices", pricesOf(link)],
        ["In flight", formatCount(link.in_flight)],
        ["Delivered in the last 15 minutes", deliveryRateOf(link)],
        ["Time to receipt", receiptTimeOf(link)],
        ["Receipt ids", link.receipt_ids],
        [
          "Id",
          <>
            <code>{link.id}</code> <CopyButton text={link.id} />
          </>,
        ],
        ["Created", moment(link.created_at)],
        ["Created by", !isOfOperator(link) && <CreatedBy by={link.created_by} />],
        ["Changed", moment(link.updated_at)],
      ]}
    />
  </section>
);

/** The settings by the labels of their fields. A further setting has its own name. */
export function CarrierSettings({ link }: { link: Link }): JSX.Element {
  const fields = carrierOf(link)?.fields ?? [];
  const labelOf = (name: string): string => fields.find((field) => field.name === name)?.label ?? words(name);
  const { values = {}, ...settings } = (link.settings ?? {}) as Record<string, unknown> & { values?: Record<string, string> };
  return (
    <section class="card" aria-label="Settings">
      <h2>Settings</h2>
      <Facts
        rows={[
          ...Object.entries(settings).map(([name, value]) => [labelOf(name), formatSetting(value)] as const),
          ...Object.entries(values).map(([name, value]) => [labelOf(`values.${name}`), value] as const),
          ...link.secrets.map((name) => [labelOf(link.carrier === null ? name : `secrets.${name}`), <em>set</em>] as const),
        ]}
      />
    </section>
  );
}

const formatSetting = (value: unknown): string =>
  typeof value === "boolean" ? (value ? "yes" : "no") : typeof value === "string" ? value : JSON.stringify(value);
