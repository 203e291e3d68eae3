/** The script of the documentation: theme, menu, copy buttons, language tabs, the forms of the API reference, and the search, which is loaded when it
 *  is opened. */
import { SAMPLE_ORIGIN } from "./sample-origin.ts";
import { siteStorage as storage } from "./storage.ts";

const find = (selector: string, root: ParentNode = document): HTMLElement | null => root.querySelector<HTMLElement>(selector);
const all = (selector: string, root: ParentNode = document): HTMLElement[] => [...root.querySelectorAll<HTMLElement>(selector)];

// The console has the same names: a theme applies to both.
const THEME = "godwit:theme";
const LANGUAGE = "godwit:language";

function showTheme(theme: string | null): void {
  if (theme === "light" || theme === "dark") document.documentElement.dataset["theme"] = theme;
  else delete document.documentElement.dataset["theme"];
}

function startTheme(): void {
  const select = document.querySelector<HTMLSelectElement>("#theme");
  const stored = storage.read(THEME);
  showTheme(stored);
  if (select === null) return;
  select.value = stored === "light" || stored === "dark" ? stored : "system";
  select.addEventListener("change", () => {
    storage.write(THEME, select.value);
    showTheme(select.value);
  });
}

/** The menu and the outline are open where there is room beside the text. */
function startMenus(): void {
  for (const [id, query] of [
    ["menu", "(min-width: 60rem)"],
    ["outline", "(min-width: 86rem)"],
  ] as const) {
    const details = document.querySelector<HTMLDetailsElement>(`#${id}`);
    const wide = matchMedia(query);
    const apply = (): void => {
      if (details !== null) details.open = wide.matches;
    };
    apply();
    wide.addEventListener("change", apply);
  }
  const [menu, current] = [find("nav.contents"), find("nav.contents [aria-current=page]")];
  // Its children are below the current page.
  if (menu !== null && current !== null) menu.scrollTop = current.offsetTop - menu.clientHeight / 2;
}

/** Shows the address of this service in samples and texts. Outside of samples, the address without a path is the default of a setting. */
function useOwnOrigin(): void {
  if (location.origin === SAMPLE_ORIGIN) return;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode() !== null) {
    const node = walker.currentNode;
    const end = node.parentElement?.closest("pre") === null ? "/" : "";
    if (node.nodeValue?.includes(SAMPLE_ORIGIN + end))
      node.nodeValue = node.nodeValue.replaceAll(SAMPLE_ORIGIN + end, location.origin + end);
  }
}

function addCopyButton(sample: Element): void {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", () => void copy(sample, button));
  sample.append(button);
}

async function copy(sample: Element, button: HTMLButtonElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(find("code", sample)?.textContent ?? "");
    button.textContent = "Copied";
  } catch {
    // Without a secure connection, or by choice of the user.
    button.textContent = "Not allowed";
  }
  setTimeout(() => (button.textContent = "Copy"), 2_000);
}

/** Each group of samples has a button for each language. The choice applies to all groups, and is remembered. */
function startTabs(): void {
  const groups = all(".tabs");
  const choose = (language: string): void => {
    for (const group of groups) {
      const samples = all(".sample[data-tab]", group);
      const chosen = samples.find(({ dataset }) => dataset["tab"] === language) ?? samples[0];
      for (const sample of samples) sample.hidden = sample !== chosen;
      for (const button of all("[role=tab]", group)) {
        const isChosen = button.dataset["tab"] === chosen?.dataset["tab"];
        button.ariaSelected = String(isChosen);
        button.tabIndex = isChosen ? 0 : -1;
      }
    }
  };
  for (const group of groups) group.prepend(tabList(group, choose));
  choose(storage.read(LANGUAGE) ?? "curl");
}

function tabList(group: Element, choose: (language: string) => void): HTMLElement {
  const list = document.createElement("div");
  list.role = "tablist";
  list.ariaLabel = "Language";
  const languages = all(".sample[data-tab]", group).map(({ dataset }) => dataset["tab"] ?? "");
  for (const language of languages) {
    const button = document.createElement("button");
    button.type = "button";
    button.role = "tab";
    button.dataset["tab"] = language;
    button.textContent = language;
    button.addEventListener("click", () => {
      // The text below a group must not move away from the reader when other groups above it change their height.
      const before = button.getBoundingClientRect().top;
      storage.write(LANGUAGE, language);
      choose(language);
      scrollBy(0, button.getBoundingClientRect().top - before);
    });
    list.append(button);
  }
  list.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const buttons = all("[role=tab]", list);
    const next = buttons[(buttons.indexOf(document.activeElement as HTMLButtonElement) + step + buttons.length) % buttons.length];
    if (step === 0 || next === undefined) return;
    next.click();
    next.focus();
  });
  return list;
}

function startSearch(): void {
  const open = async (): Promise<void> => {
    const { openSearch } = await import("./search.ts");
    await openSearch();
  };
  find("#open-search")?.addEventListener("click", () => void open());
  addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
    if ((event.key === "/" && !isTyping) || (event.key === "k" && (event.ctrlKey || event.metaKey))) {
      event.preventDefault();
      void open();
    }
  });
}

/** The page had all operations once. Its anchors, such as #operation/sendMessage and #/messages/sendMessage, lead to the pages that have them now. */
function followOldAnchor(): void {
  if (location.pathname !== "/docs/reference" || location.hash === "") return;
  const place = document.getElementById(location.hash.slice(1)) ?? document.getElementById(`operation/${location.hash.split("/").at(-1)}`);
  if (place === null || !/^(operation|tag)\//.test(place.id)) return;
  const link = place.querySelector("a");
  if (link !== null) location.replace(link.href);
}

followOldAnchor();
startTheme();
startMenus();
useOwnOrigin();
all(".sample").forEach(addCopyButton);
startTabs();
startSearch();
if (find(".try") !== null) void import("./try-it.ts").then(({ startForms }) => startForms(addCopyButton));
