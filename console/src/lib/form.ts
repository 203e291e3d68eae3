/** Faults in a form: incomplete dates, which only the browser knows, and those that the service reported. */
import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";

const isIncomplete = (element: Element): element is HTMLInputElement => element instanceof HTMLInputElement && element.validity.badInput;

/** Returns true if a date is incomplete, and lets the browser report it at the field. */
export function refusesIncomplete(form: HTMLFormElement | null): boolean {
  const found = [...(form?.elements ?? [])].find(isIncomplete);
  found?.reportValidity();
  return found !== undefined;
}

/** Focuses the first faulty field after an error, because it may be outside the visible area. */
export function useShownFault(form: RefObject<HTMLFormElement | null>, error: unknown): void {
  useEffect(() => {
    if (error === undefined) return;
    const wrong = form.current?.querySelector<HTMLElement>("[aria-invalid]");
    if (wrong instanceof HTMLElement) wrong.focus();
    else form.current?.querySelector("[role=alert]")?.scrollIntoView({ block: "nearest" });
  }, [form, error]);
}
