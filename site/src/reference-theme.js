// Shows the API reference in the theme of the documentation, before its first line is drawn.
try {
  const stored = localStorage.getItem("godwit:theme");
  const isDark = stored === "dark" || (stored !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  const theme = isDark ? "dark" : "light";
  localStorage.setItem("redoc.colorMode", theme);
  document.documentElement.classList.add(theme);
  document.documentElement.dataset.theme = theme;
} catch {
  // The browser refuses access to its storage.
}
