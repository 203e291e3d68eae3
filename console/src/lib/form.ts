/** Forms say themselves what is wrong with them, but for one thing that only the browser knows: a date of which a part is missing is, to whoever reads
 *  the field, no date at all. */

const isIncomplete = (element: Element): element is HTMLInputElement => element instanceof HTMLInputElement && element.validity.badInput;

/** Whether there is one; the browser then says so at its place. */
export function refusesIncomplete(form: HTMLFormElement | null): boolean {
  const found = [...(form?.elements ?? [])].find(isIncomplete);
  found?.reportValidity();
  return found !== undefined;
}
