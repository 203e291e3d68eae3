/** The dialog that creates a credential of a compatible API and shows its password once. */
import type { CompatibleCredentialWithSecret, NewCompatibleCredential } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { apiTitle } from "../lib/format.ts";
import { useSession } from "../session/use-session.ts";
import { CopyButton } from "../ui/copy.tsx";
import { Facts } from "../ui/facts.tsx";
import { CheckList, SelectField, TextField } from "../ui/field.tsx";
import { faultAt, faultIn } from "../ui/problem.tsx";
import { SecretDialog } from "../ui/secret-dialog.tsx";
import { CREDENTIAL_KINDS, type CredentialKind } from "./credential-kinds.ts";
import { KeyAgain, KeyAgainReason, useKeyAgain } from "./key-again.tsx";
import { SCOPE_TEXTS } from "./scopes.ts";

type Values = Readonly<Record<string, string>>;

export function CreateCredential({ onClose, onDone }: { onClose: () => void; onDone: () => void }): JSX.Element {
  const keyAgain = useKeyAgain();
  const [kindId, setKindId] = useState("twilio");
  const [userName, setUserName] = useState("");
  const [values, setValues] = useState<Values>({});
  const [scopes, setScopes] = useState<string[]>([]);
  const [made, setMade] = useState<CompatibleCredentialWithSecret | undefined>(undefined);
  const kind = CREDENTIAL_KINDS[kindId] as CredentialKind;
  const action = useAction(async () => {
    const body = {
      source: kind.source,
      user_name: kind.asksUserName ? userName.trim() || null : null,
      // The scopes come from the service itself, so they are valid.
      scopes: scopes.length === 0 ? null : (scopes as NonNullable<NewCompatibleCredential["scopes"]>),
      settings: { ...kind.settings, ...chosenSettings(kind, values) },
    };
    setMade(await keyAgain.use((api) => api.compatibleCredentials.create(body)));
  });
  const { error } = action;
  return (
    <SecretDialog
      title={made === undefined ? "Create a credential" : "The new credential"}
      submit="Create"
      action={action}
      onClose={onClose}
      what={kind.secret}
      secret={made?.secret}
      note={made !== undefined && <SignIn kind={kind} userName={made.user_name} />}
      onDone={onDone}
    >
      <KeyAgainReason />
      <SelectField
        label="Kind"
        value={kindId}
        onValue={(id) => {
          // The faults are those of the other kind.
          action.clear();
          setKindId(id);
        }}
        options={Object.entries(CREDENTIAL_KINDS).map(([id, { title }]) => [id, title])}
        hint={
          <>
            {kind.about}{" "}
            <a href={`/docs/migrate-from-${kind.source}`} target="_blank" rel="noreferrer">
              Move from {apiTitle(kind.source)}
            </a>
          </>
        }
        error={kind.asksUserName ? undefined : faultAt(error, "/user_name")}
      />
      {kind.asksUserName && (
        <TextField
          label="User name"
          hint="The username of its requests. No other user of this service may have it."
          value={userName}
          onValue={setUserName}
          error={faultAt(error, "/user_name")}
        />
      )}
      <SettingFields kind={kind} values={values} onValues={setValues} error={error} />
      <CredentialScopes chosen={scopes} onChosen={setScopes} error={faultIn(error, "/scopes")} />
      <KeyAgain of={keyAgain} error={error} />
    </SecretDialog>
  );
}

/** The settings of the kind that have a value. */
const chosenSettings = ({ fields }: CredentialKind, values: Values): Record<string, string> =>
  Object.fromEntries(fields.map(({ name }) => [name, (values[name] ?? "").trim()] as const).filter(([, value]) => value !== ""));

type SettingsProps = { kind: CredentialKind; values: Values; onValues: (values: Values) => void; error: unknown };

const SettingFields = ({ kind, values, onValues, error }: SettingsProps): JSX.Element => (
  <div class="field-row">
    {kind.fields.map(({ name, options, ...texts }) => {
      const field = {
        ...texts,
        value: values[name] ?? "",
        onValue: (value: string): void => onValues({ ...values, [name]: value }),
        error: faultAt(error, `/settings/${name}`),
      };
      return options === undefined ? (
        <TextField key={name} isOptional {...field} />
      ) : (
        <SelectField key={name} options={options} {...field} />
      );
    })}
  </div>
);

type ScopesProps = { chosen: readonly string[]; onChosen: (scopes: string[]) => void; error: string | undefined };

function CredentialScopes({ chosen, onChosen, error }: ScopesProps): JSX.Element {
  const { identity } = useSession();
  const [isOpen, setOpen] = useState(false);
  return (
    <details open={isOpen || error !== undefined} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Scopes other than those that the API needs</summary>
      <CheckList legend="Scopes" options={identity.scopes} descriptions={SCOPE_TEXTS} chosen={chosen} onChosen={onChosen} error={error} />
    </details>
  );
}

/** The values that the application needs besides the password. */
const SignIn = ({ kind, userName }: { kind: CredentialKind; userName: string }): JSX.Element => {
  const url = `${location.origin}${kind.path}`;
  return (
    <Facts
      rows={[
        [kind.userName ?? "User name", kind.userName !== undefined && <Copied text={userName} />],
        ["URL", <Copied text={url} />],
      ]}
    />
  );
};

const Copied = ({ text }: { text: string }): JSX.Element => (
  <>
    <code>{text}</code> <CopyButton text={text} />
  </>
);
