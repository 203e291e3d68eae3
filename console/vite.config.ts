/** The build configuration of the console. Vite reads it for `npm run dev -w console`, and scripts/build.ts imports it. */
import { fileURLToPath } from "node:url";
import type { UserConfig } from "vite";

const config: UserConfig = {
  base: "/console/",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  // The console imports the source of the SDK, so that a checkout needs no build of it.
  resolve: { alias: { "godwit-sdk": fileURLToPath(new URL("../sdk/src/index.ts", import.meta.url)) } },
  build: {
    target: "es2024",
    // The Content-Security-Policy allows neither inline scripts nor data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  // For `npm run dev -w console` beside a running `npm start`.
  server: { proxy: { "/v1": "http://127.0.0.1:8080" } },
};

// oxlint-disable-next-line import/no-default-export -- Vite expects it
export default config;
