/** The color theme: that of the system, unless the user has chosen one. */
import { useState } from "preact/hooks";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const STORED = "godwit:theme";

// A browser may refuse access to its storage. Then the theme of the system applies, and a choice lasts until the page is closed.
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
    // The browser refuses access to its storage.
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
