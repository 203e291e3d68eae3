/** Light or dark: as the system has it, unless a person has chosen. */
import { useState } from "preact/hooks";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const STORED = "godwit:theme";

// A browser may refuse its storage: then the system's colours, and a choice for as long as the page lasts.
const stored = (): Theme => {
  try {
    return THEMES.find((theme) => theme === localStorage.getItem(STORED)) ?? "system";
  } catch {
    return "system";
  }
};

const keep = (theme: Theme): void => {
  try {
    localStorage.setItem(STORED, theme);
  } catch {
    // See above.
  }
};

const show = (theme: Theme): void => {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
};

export const showStoredTheme = (): void => show(stored());

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(stored);
  const choose = (chosen: Theme): void => {
    keep(chosen);
    show(chosen);
    setTheme(chosen);
  };
  return [theme, choose];
}
