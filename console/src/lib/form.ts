/** Finds incomplete dates in a form. Only the browser knows them: the value of a date field is empty until the date is complete. */

const isIncomplete = (element: Element): element is HTMLInputElement => element instanceof HTMLInputElement && element.validity.badInput;

/** Returns true if a date is incomplete, and lets the browser report it at the field. */
export function refusesIncomplete(form: HTMLFormElement | null): boolean {
  const found = [...(form?.elements ?? [])].find(isIncomplete);
  found?.reportValidity();
  return found !== undefined;
}
