/** Light or dark: as the system has it, unless a person has chosen. */
import { useState } from "preact/hooks";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const STORED = "godwit:theme";

const stored = (): Theme => THEMES.find((theme) => theme === localStorage.getItem(STORED)) ?? "system";

const show = (theme: Theme): void => {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
};

export const showStoredTheme = (): void => show(stored());

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(stored);
  const choose = (chosen: Theme): void => {
    localStorage.setItem(STORED, chosen);
    show(chosen);
    setTheme(chosen);
  };
  return [theme, choose];
}
