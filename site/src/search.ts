/** The search: an index that the build wrote, in this browser. No request leaves the service. */
import { findSections, readIndex, type Found, type SearchIndex } from "./search-index.ts";

const INDEX_PATH = "/docs/assets/search.json";

let index: Promise<SearchIndex> | undefined;
let isStarted = false;

async function load(): Promise<SearchIndex> {
  const response = await fetch(INDEX_PATH);
  if (!response.ok) throw new Error(`the index was not loaded: ${response.status}`);
  return readIndex(await response.text());
}

const element = (id: string): HTMLElement => document.getElementById(id) as HTMLElement;
const dialog = (): HTMLDialogElement => element("search") as HTMLDialogElement;
const query = (): HTMLInputElement => element("query") as HTMLInputElement;

export async function openSearch(): Promise<void> {
  if (!isStarted) start();
  if (!dialog().open) dialog().showModal();
  query().select();
  try {
    await (index ??= load());
  } catch {
    index = undefined;
    element("search-note").textContent = "The search is not available. Load the page again.";
  }
}

function start(): void {
  isStarted = true;
  const input = query();
  input.addEventListener("input", () => void show(input.value));
  input.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      select(step);
    } else if (event.key === "Escape") {
      // The browser would only empty the field.
      event.preventDefault();
      dialog().close();
    } else if (event.key === "Enter") {
      event.preventDefault();
      options().find(isSelected)?.querySelector("a")?.click();
    }
  });
  // A result on the page that is shown only moves to its heading.
  element("results").addEventListener("click", () => dialog().close());
}

const options = (): HTMLElement[] => [...element("results").querySelectorAll<HTMLElement>("[role=option]")];
const isSelected = (option: HTMLElement): boolean => option.ariaSelected === "true";

function select(step: number): void {
  const found = options();
  const next = found[(found.findIndex(isSelected) + step + found.length) % found.length];
  for (const option of found) option.ariaSelected = String(option === next);
  next?.scrollIntoView({ block: "nearest" });
  if (next !== undefined) query().setAttribute("aria-activedescendant", next.id);
}

async function show(text: string): Promise<void> {
  const results = findSections(await (index ??= load()), text);
  if (query().value !== text) return;
  element("results").replaceChildren(...results.map(toOption));
  query().ariaExpanded = String(results.length > 0);
  element("search-note").textContent =
    text === "" ? "" : results.length === 0 ? `Nothing found for “${text}”.` : `${results.length} results`;
  query().removeAttribute("aria-activedescendant");
}

function toOption({ path, page, heading, excerpt }: Found, position: number): HTMLElement {
  const option = document.createElement("li");
  option.role = "option";
  option.id = `result-${position}`;
  option.ariaSelected = String(position === 0);
  const link = document.createElement("a");
  link.href = path;
  link.tabIndex = -1;
  const title = document.createElement("strong");
  title.textContent = heading === page ? page : `${page} › ${heading}`;
  const detail = document.createElement("span");
  detail.append(...excerpt.map(({ text, isMatch }) => (isMatch ? marked(text) : text)));
  link.append(title, detail);
  option.append(link);
  return option;
}

function marked(text: string): HTMLElement {
  const mark = document.createElement("mark");
  mark.textContent = text;
  return mark;
}
