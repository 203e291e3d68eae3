/** The forms of the API reference: each sends its request to this service, and shows the response. The key stays in the fields of the page, or in the storage of the tab if the person
 *  chooses that. */
import { shellQuote } from "../../scripts/sample-literals.ts";
import { newUuid } from "../../sdk/src/uuid.ts";
import { tabStorage } from "./storage.ts";

type Prepared = { method: string; path: string; headers: Record<string, string>; body?: string };
type Field = HTMLInputElement | HTMLSelectElement;
type AddCopyButton = (sample: Element) => void;

const TEST_KEY = "gw_test_";
const MAX_WAIT_MS = 60_000;
// A browser is slow to show more text.
const MAX_SHOWN = 200_000;
const REFUSAL = `This is not a test key, which begins with ${TEST_KEY}. With it, requests can send messages to phones and change data of your customers. Tick “This is live” to send the request anyway.`;
const SHOWN_HEADERS = ["X-Request-Id", "Location", "Idempotent-Replayed", "RateLimit", "RateLimit-Policy", "Retry-After"];

const all = <E extends Element>(selector: string, root: ParentNode = document): E[] => [...root.querySelectorAll<E>(selector)];

export function startForms(addCopyButton: AddCopyButton): void {
  for (const details of all<HTMLDetailsElement>(".try")) {
    details.hidden = false;
    const form = details.querySelector("form") as HTMLFormElement;
    startIdempotencyKey(form);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void send(details, form, addCopyButton);
    });
  }
  startKeys();
}

const STORED_KEY = "godwit:try-key";

/** One key for all forms of the page, and of the other pages in this tab if it is kept. */
function startKeys(): void {
  const keys = all<HTMLInputElement>("[data-key]");
  const choices = all<HTMLInputElement>("[data-keep]");
  const apply = (key: string, isKept: boolean): void => {
    for (const field of keys) field.value = key;
    for (const choice of choices) choice.checked = isKept;
    for (const label of all<HTMLElement>(".live")) label.hidden = isTestKey(key) || key === "";
    if (isKept && key !== "") tabStorage.write(STORED_KEY, key);
    else tabStorage.remove(STORED_KEY);
  };
  const isKept = (): boolean => choices.some(({ checked }) => checked);
  for (const key of keys) key.addEventListener("input", () => apply(key.value, isKept()));
  for (const choice of choices) choice.addEventListener("change", () => apply(keys[0]?.value ?? "", choice.checked));
  const stored = tabStorage.read(STORED_KEY);
  if (stored !== null) apply(stored, true);
}

const isTestKey = (key: string): boolean => key.startsWith(TEST_KEY);

/** A request that was sent and is changed needs a new key. */
function startIdempotencyKey(form: HTMLFormElement): void {
  const field = form.querySelector<HTMLInputElement>("[data-header]");
  if (field === null) return;
  const renew = (): void => {
    field.value = newUuid();
    delete form.dataset["sent"];
  };
  renew();
  form.querySelector("[data-new-key]")?.addEventListener("click", renew);
  form.addEventListener("input", ({ target }) => {
    if (form.dataset["sent"] !== undefined && target instanceof Element && !target.matches("[data-key], [data-live], [data-header]"))
      renew();
  });
}

async function send(details: HTMLDetailsElement, form: HTMLFormElement, addCopyButton: AddCopyButton): Promise<void> {
  const outcome = details.querySelector(".outcome") as HTMLElement;
  const reply = details.querySelector(".reply") as HTMLElement;
  const show = (text: string, kind: "good" | "bad" | "", ...samples: HTMLElement[]): void => {
    outcome.textContent = text;
    outcome.className = `outcome ${kind}`;
    reply.replaceChildren(...samples);
    samples.forEach(addCopyButton);
  };
  const key = form.querySelector<HTMLInputElement>("[data-key]")?.value.trim();
  if (key !== undefined && !isTestKey(key) && form.querySelector<HTMLInputElement>("[data-live]")?.checked !== true)
    return show(REFUSAL, "bad");
  const request = requestOf(details, form);
  const command = sample("The same request with curl", curl(request, clientOf(form), key !== undefined));
  const button = form.querySelector("[type=submit]") as HTMLButtonElement;
  button.disabled = true;
  form.dataset["sent"] = "";
  show("The request is sent …", "");
  const startedAt = performance.now();
  try {
    const { response, text } = await exchange(request, authorization(form, key));
    const headers = SHOWN_HEADERS.flatMap((name) => (response.headers.has(name) ? [`${name}: ${response.headers.get(name)}`] : []));
    const status = `${response.status} ${response.statusText} · ${Math.round(performance.now() - startedAt)} ms`;
    const body = sample("Body", indented(text).slice(0, MAX_SHOWN));
    show(status, response.ok ? "good" : "bad", sample("Headers", headers.join("\n")), body, command);
  } catch (error) {
    show(`The request failed, and may have reached the service: ${(error as Error).message}`, "bad", command);
  }
  button.disabled = false;
}

function requestOf({ dataset }: HTMLElement, form: HTMLFormElement): Prepared {
  const path = (dataset["path"] ?? "").replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(form.querySelector<Field>(`[data-path="${name}"]`)?.value.trim() ?? ""),
  );
  const query = new URLSearchParams(
    all<Field>("[data-query]", form).flatMap((field) => (field.value === "" ? [] : [[field.dataset["query"] ?? "", field.value]])),
  ).toString();
  const body = form.querySelector("textarea")?.value;
  const idempotencyKey = form.querySelector<HTMLInputElement>("[data-header]")?.value ?? "";
  return {
    method: dataset["method"] ?? "GET",
    path: `${path}${query === "" ? "" : `?${query}`}`,
    headers: {
      ...(idempotencyKey === "" ? {} : { "Idempotency-Key": idempotencyKey }),
      ...(body === undefined ? {} : { "Content-Type": dataset["type"] ?? "" }),
    },
    ...(body === undefined ? {} : { body }),
  };
}

function authorization(form: HTMLFormElement, key: string | undefined): Record<string, string> {
  if (key === undefined) return {};
  const client = clientOf(form);
  return { Authorization: client === undefined ? `Bearer ${key}` : `Basic ${btoa(`${client}:${key}`)}` };
}

const clientOf = (form: HTMLFormElement): string | undefined => form.querySelector<HTMLInputElement>("[data-client]")?.value.trim();

async function exchange({ path, headers, ...rest }: Prepared, credential: object): Promise<{ response: Response; text: string }> {
  const signal = AbortSignal.timeout(MAX_WAIT_MS);
  const isolated = { credentials: "omit", cache: "no-store", redirect: "error" } as const;
  const response = await fetch(path, { ...rest, ...isolated, headers: { ...headers, ...credential }, signal });
  return { response, text: await response.text() };
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function curl({ method, path, headers, body }: Prepared, client: string | undefined, hasKey: boolean): string {
  return [
    `curl -X ${method} ${shellQuote(location.origin + path)}`,
    ...(client !== undefined ? [`-u ${shellQuote(client)}:"$GODWIT_KEY"`] : hasKey ? ['-H "Authorization: Bearer $GODWIT_KEY"'] : []),
    ...Object.entries(headers).map(([name, value]) => `-H ${shellQuote(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`--data-raw ${shellQuote(body)}`]),
  ].join(" \\\n  ");
}

function sample(title: string, text: string): HTMLElement {
  const element = (tag: string): HTMLElement => document.createElement(tag);
  const [block, caption, pre, code] = [element("div"), element("p"), element("pre"), element("code")];
  block.className = "sample";
  caption.textContent = title;
  pre.tabIndex = 0;
  code.textContent = text;
  pre.append(code);
  block.append(caption, pre);
  return block;
}
