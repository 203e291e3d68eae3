/** Lists of the newer products of Twilio, of which each has all its records on one page. */
import { twilioProblem } from "./errors.ts";
import { PAGING, requireKnown, valueOf, type TwilioParameters } from "./forms.ts";

const DEFAULT_SIZE = 50;
const MAX_SIZE = 1_000;

/** `url`: the URL of the list. `key`: the name of its records. */
export function wholeList<T>(records: readonly T[], url: string, key: string, parameters: TwilioParameters) {
  requireKnown(parameters, PAGING);
  const text = valueOf(parameters, "PageSize") ?? String(DEFAULT_SIZE);
  const [size, page] = [Number(text), Number(valueOf(parameters, "Page") ?? "0")];
  if (!(Number.isInteger(size) && size >= 1 && size <= MAX_SIZE)) throw twilioProblem(20001, `PageSize must be 1 to ${MAX_SIZE}`);
  if (!(Number.isInteger(page) && page >= 0)) throw twilioProblem(20001, "Page must be a whole number");
  const shown = records.slice(page * size, (page + 1) * size);
  const urlOf = (number: number): string => `${url}?PageSize=${size}&Page=${number}`;
  return {
    meta: {
      page,
      page_size: size,
      first_page_url: urlOf(0),
      previous_page_url: page > 0 ? urlOf(page - 1) : null,
      url: urlOf(page),
      next_page_url: (page + 1) * size < records.length ? urlOf(page + 1) : null,
      key,
    },
    [key]: shown,
  };
}
