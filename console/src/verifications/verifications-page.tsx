/** Sends a verification code, and lists verifications. */
import { newIdempotencyKey, type NewVerification, type QueryOf, type Verification } from "godwit-sdk";
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { cleanNumber } from "../../../src/bulk/clean-number.ts";
import { useAction } from "../lib/action.ts";
import { useShownFault } from "../lib/form.ts";
import { Link, navigate, replaceQuery, useAddress } from "../lib/router.tsx";
import { useDebounced } from "../lib/timing.ts";
import { useApi, useMay, useSession } from "../session/use-session.ts";
import { SelectField, TextField } from "../ui/field.tsx";
import { choices } from "../ui/filters.tsx";
import { Ago } from "../ui/moment.tsx";
import { Empty, Loaded, Page } from "../ui/page.tsx";
import { More, useList } from "../ui/pages.tsx";
import { faultAt, Problem } from "../ui/problem.tsx";
import { Status } from "../ui/status.tsx";
import { Table, type Column } from "../ui/table.tsx";

export function VerificationsPage(): JSX.Element {
  const mayWrite = useMay("verifications:write");
  const mayRead = useMay("verifications:read");
  return (
    <Page
      title="Verifications"
      lead={
        <>
          Verify that a user controls a phone number with a one-time code. <a href="/docs/verifications">How to use verifications</a>
        </>
      }
    >
      {mayWrite && <SendCode />}
      {mayRead && <Verifications />}
    </Page>
  );
}

const CHANNELS: Readonly<Record<string, NonNullable<NewVerification["channels"]>>> = {
  sms: ["sms"],
  whatsapp: ["whatsapp"],
  whatsapp_sms: ["whatsapp", "sms"],
};

function SendCode(): JSX.Element {
  const api = useApi();
  const { environment } = useSession().identity;
  const [recipient, setRecipient] = useState("");
  const [channels, setChannels] = useState("sms");
  const [codeLength, setCodeLength] = useState("6");
  const form = useRef<HTMLFormElement>(null);
  const request: NewVerification = {
    recipient: cleanNumber(recipient),
    channels: [...(CHANNELS[channels] ?? ["sms"])],
    code_length: Number(codeLength),
  };
  const [refused, setRefused] = useState(0);
  // A refusal is stored with its key, so the next attempt needs another one.
  const idempotencyKey = useMemo(newIdempotencyKey, [JSON.stringify(request), refused]);
  const action = useAction(async () => {
    try {
      const { id } = await api.verifications.create(request, { idempotencyKey });
      navigate(`verifications/${id}`);
    } catch (error) {
      setRefused(refused + 1);
      throw error;
    }
  });
  useShownFault(form, action.error);
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    void action.run();
  };
  return (
    <form class="card stack" ref={form} aria-label="Send a code" onSubmit={onSubmit} noValidate>
      <h2>Send a code</h2>
      <TextField
        label="Recipient"
        type="tel"
        placeholder="+14155550123"
        value={recipient}
        onValue={setRecipient}
        error={faultAt(action.error, "/recipient")}
      />
      <div class="field-row">
        <SelectField
          label="Channels"
          value={channels}
          onValue={setChannels}
          options={[
            ["sms", "SMS"],
            ["whatsapp", "WhatsApp"],
            ["whatsapp_sms", "WhatsApp, then SMS"],
          ]}
          error={faultAt(action.error, "/channels")}
        />
        <SelectField
          label="Digits"
          value={codeLength}
          onValue={setCodeLength}
          options={["4", "5", "6", "7", "8", "9", "10"].map((digits): [string, string] => [digits, digits])}
        />
      </div>
      {environment === "test" && <p class="hint">In test, the code is always the first digits of 1234567890.</p>}
      <Problem error={action.error} recipient={request.recipient} />
      <div class="actions">
        <button type="submit" class="primary" disabled={action.isRunning}>
          {action.isRunning ? "Sending…" : "Send a code"}
        </button>
      </div>
    </form>
  );
}

const STATUSES = ["pending", "approved", "expired", "failed", "canceled"];
const FILTERS = ["status", "recipient"] as const;

function Verifications(): JSX.Element {
  const api = useApi();
  const { query } = useAddress();
  const of = (name: string): string => query.get(name) ?? "";
  const set = (name: string, value: string): void => {
    const next = new URLSearchParams(query);
    if (value === "") next.delete(name);
    else next.set(name, value);
    replaceQuery(next);
  };
  const filters = Object.fromEntries(FILTERS.flatMap((name) => (of(name).trim() === "" ? [] : [[name, cleanNumber(of(name))]])));
  const key = useDebounced(JSON.stringify(filters), 300);
  const list = useList(`verifications ${key}`, (cursor, signal) =>
    api.verifications.list(JSON.parse(key) as QueryOf<"listVerifications">, { signal }).page(cursor),
  );
  return (
    <>
      <div class="filters" role="search" aria-label="Verifications">
        <SelectField label="Status" value={of("status")} onValue={(value) => set("status", value)} options={choices("Any", STATUSES)} />
        <TextField
          label="Sent to"
          type="search"
          placeholder="+14155550123"
          value={of("recipient")}
          onValue={(value) => set("recipient", value)}
        />
      </div>
      <section class="card" aria-label="Verifications">
        <Loaded resource={list.resource}>
          {({ items, cursor }) =>
            items.length === 0 && cursor === null ? (
              <Empty title={key === "{}" ? "No verifications yet" : "No verification matches"} />
            ) : (
              <Table label="Verifications" columns={COLUMNS} rows={items} keyOf={({ id }) => id} />
            )
          }
        </Loaded>
        <More list={list} />
      </section>
    </>
  );
}

const COLUMNS: readonly Column<Verification>[] = [
  { name: "Recipient", isRecord: true, cell: ({ id, recipient }) => <Link to={`verifications/${id}`}>{recipient}</Link> },
  { name: "Status", cell: ({ status }) => <Status of={status} /> },
  { name: "Channels", cell: ({ channels }) => channels.join(", ") },
  { name: "Wrong codes", isNumber: true, cell: ({ attempts }) => attempts },
  { name: "Created", cell: ({ created_at: at }) => <Ago iso={at} /> },
];
