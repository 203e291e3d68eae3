/** The entry point of the console. */
import { render } from "preact";
import { App } from "./app.tsx";
import { showStoredTheme } from "./shell/theme.ts";

showStoredTheme();
const root = document.querySelector("#app");
if (root !== null) render(<App />, root);
