/** How the console is put together. Read by Vite for `npm run dev -w console`, and by scripts/build.ts. */
import { fileURLToPath } from "node:url";
import type { UserConfig } from "vite";

const config: UserConfig = {
  base: "/console/",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  // The source, so that a checkout needs no build of the SDK.
  resolve: { alias: { "godwit-sdk": fileURLToPath(new URL("../sdk/src/index.ts", import.meta.url)) } },
  build: {
    target: "es2024",
    // The Content-Security-Policy allows neither inline scripts nor data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  // `npm run dev -w console` beside a running `npm start`.
  server: { proxy: { "/v1": "http://127.0.0.1:8080" } },
};

// oxlint-disable-next-line import/no-default-export -- Vite looks for it there.
export default config;
