/** Shows an error: the description of the service, its code, and a button to retry. */
import { ApiError, ConnectionError, TimeoutError } from "godwit-sdk";
import type { ComponentChildren, JSX, RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { MismatchedKey } from "../session/session.ts";
import { ErrorCode } from "./error-code.tsx";
import { NextStep } from "./next-step.tsx";

type Description = { title: string; detail: string; code?: string; requestId?: string | null };

function describe(error: unknown): Description {
  if (error instanceof ApiError) {
    const { title, detail, code, requestId, requiredScopes } = error;
    if (requiredScopes.length > 0)
      return { title: "Your key does not permit this", detail: `It lacks the scope ${requiredScopes.join(", ")}.`, code, requestId };
    return { title, detail, code, requestId };
  }
  if (error instanceof TimeoutError) return { title: "No response in time", detail: "The service did not respond in time. Retry later." };
  if (error instanceof ConnectionError)
    return { title: "The service cannot be reached", detail: "Check that it runs and that you are online." };
  if (error instanceof MismatchedKey) return { title: "A different key is required", detail: error.message };
  return { title: "Something went wrong", detail: error instanceof Error ? error.message : String(error) };
}

/** Returns the first fault of one field of the request body, such as `/recipient`. */
export const faultAt = (error: unknown, pointer: string): string | undefined =>
  error instanceof ApiError ? error.errors.find((fault) => "pointer" in fault && fault.pointer === pointer)?.detail : undefined;

/** Returns the first fault of a list such as `/countries` or of a table, with the position or the name of the faulty entry. */
export function faultIn(error: unknown, pointer: string): string | undefined {
  const whole = faultAt(error, pointer);
  if (whole !== undefined || !(error instanceof ApiError)) return whole;
  const found = error.errors.find((fault) => "pointer" in fault && fault.pointer?.startsWith(`${pointer}/`));
  if (found === undefined || !("pointer" in found)) return undefined;
  const entry = found.pointer?.slice(pointer.length + 1) ?? "";
  return `${/^\d+$/.test(entry) ? `Entry ${Number(entry) + 1}` : entry} ${found.detail}`;
}

/** Whether the detail of an error only repeats its title. */
const isRepetition = (title: string, detail: string): boolean => detail.replace(/\.$/, "").toLowerCase() === title.toLowerCase();

type Fault = ApiError["errors"][number];

/** The texts of the faults that fields of the same form show already. */
function useShownFaults(notice: RefObject<HTMLElement | null>, error: unknown): readonly string[] {
  const [shown, setShown] = useState<readonly string[]>([]);
  useLayoutEffect(() => {
    const beside = notice.current?.closest("form")?.querySelectorAll(".fault") ?? [];
    setShown(Array.from(beside, ({ textContent }) => textContent ?? ""));
  }, [notice, error]);
  return shown;
}

export function Problem({
  error,
  onRetry,
  recipient,
  children,
}: {
  error: unknown;
  /** The recipient of the request. */
  recipient?: string;
  onRetry?: (() => void) | undefined;
  children?: ComponentChildren;
}): JSX.Element | null {
  const notice = useRef<HTMLDivElement>(null);
  const shown = useShownFaults(notice, error);
  if (error === undefined) return null;
  const { title, detail, code, requestId } = describe(error);
  const faults: readonly Fault[] = error instanceof ApiError ? error.errors : [];
  const others = faults.filter((fault) => !shown.some((text) => text.includes(fault.detail)));
  const isShownBeside = faults.length > others.length || shown.includes(detail);
  return (
    <div class="notice bad" role="alert" ref={notice}>
      <p>
        <strong>{title}.</strong>{" "}
        {isShownBeside ? "See the marked fields." : faults.length > 1 || isRepetition(title, detail) ? "" : detail}
      </p>
      {(isShownBeside || faults.length > 1) && others.length > 0 && (
        <ul>
          {others.map((fault) => (
            <li key={JSON.stringify(fault)}>
              {"pointer" in fault && <code>{fault.pointer?.slice(1)}</code>} {fault.detail}
            </li>
          ))}
        </ul>
      )}
      {code !== undefined && <NextStep code={code} recipient={recipient} />}
      {code !== undefined && (
        <p class="quiet">
          <ErrorCode code={code} />
          {typeof requestId === "string" && <> · {requestId}</>}
        </p>
      )}
      {children}
      {onRetry !== undefined && (
        <button type="button" onClick={onRetry}>
          Retry
        </button>
      )}
    </div>
  );
}
