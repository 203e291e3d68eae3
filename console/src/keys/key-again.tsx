/** Asks for the API key again before a key is created or rotated, so that a person at an open session cannot make a key of their own. The
 *  request is made with the typed key: an access token can create only keys that expire with it. */
import { ApiError, type Godwit } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { confirmKey, MismatchedKey } from "../session/session.ts";
import { useSession } from "../session/use-session.ts";
import { Field } from "../ui/field.tsx";

type TypedKey = {
  key: string;
  setKey: (key: string) => void;
  /** Makes a request with the typed key, and forgets the key once the request has succeeded. */
  use: <T>(request: (api: Godwit) => PromiseLike<T>) => Promise<T>;
};

export function useKeyAgain(): TypedKey {
  const { identity } = useSession();
  const [key, setKey] = useState("");
  const use: TypedKey["use"] = async (request) => {
    const result = await request(await confirmKey(key.trim(), identity));
    setKey("");
    return result;
  };
  return { key, setKey, use };
}

/** Stands at the top of a dialog, since the field is its last one. */
export const KeyAgainReason = (): JSX.Element => (
  <p class="hint">At the end, enter your API key again: an open session is not enough for a key or credential that outlives it.</p>
);

export function KeyAgain({ of: { key, setKey }, error }: { of: TypedKey; error: unknown }): JSX.Element {
  const { environment } = useSession().identity;
  return (
    <Field label="Your API key" hint="It needs the scope keys:write. The page forgets it afterwards." error={keyFault(error)}>
      {(control) => (
        <input
          {...control}
          type="password"
          autoComplete="off"
          spellcheck={false}
          placeholder={`gw_${environment}_…`}
          value={key}
          onInput={({ currentTarget }) => setKey(currentTarget.value)}
        />
      )}
    </Field>
  );
}

function keyFault(error: unknown): string | undefined {
  if (error instanceof MismatchedKey) return error.message;
  return error instanceof ApiError && (error.status === 401 || error.code === "forbidden_address") ? error.detail : undefined;
}
