/** Sends a verification code, and opens a verification by its id. The API has no list of verifications. */
import { newIdempotencyKey, type NewVerification } from "godwit-sdk";
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { useShownFault } from "../lib/form.ts";
import { Link, navigate } from "../lib/router.tsx";
import { useApi, useMay, useSession } from "../session/use-session.ts";
import { SelectField, TextField } from "../ui/field.tsx";
import { Page } from "../ui/page.tsx";
import { faultAt, Problem } from "../ui/problem.tsx";

export function VerificationsPage(): JSX.Element {
  const mayWrite = useMay("verifications:write");
  return (
    <Page
      title="Verifications"
      lead={
        <>
          Verify that a user controls a phone number with a one-time code. <a href="/docs/verifications">How to use verifications</a>
        </>
      }
    >
      <div class="columns">
        {mayWrite && <SendCode />}
        <OpenVerification />
      </div>
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
    recipient: recipient.trim(),
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
      <Problem error={action.error} />
      <div class="actions">
        <button type="submit" class="primary" disabled={action.isRunning}>
          {action.isRunning ? "Sending…" : "Send a code"}
        </button>
      </div>
    </form>
  );
}

function OpenVerification(): JSX.Element {
  const [id, setId] = useState("");
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (id.trim() !== "") navigate(`verifications/${encodeURIComponent(id.trim())}`);
  };
  return (
    <form class="card stack" aria-label="Open a verification" onSubmit={onSubmit} noValidate>
      <h2>Open a verification</h2>
      <TextField
        label="Verification id"
        placeholder="ver_…"
        hint={
          <>
            The response to the request that sent the code has it. The messages with codes are on the page{" "}
            <Link to="messages">Messages</Link>, without the codes.
          </>
        }
        value={id}
        onValue={setId}
      />
      <div class="actions">
        <button type="submit">Open</button>
      </div>
    </form>
  );
}
