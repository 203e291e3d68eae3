/** Builds the console into dist/. Runs after `npm ci`, before the tests, and before `npm start`. */
import { join } from "node:path";
import { buildOnce } from "../../scripts/build-once.ts";

const FOLDER = join(import.meta.dirname, "..");

await buildOnce(
  {
    name: "console",
    folder: FOLDER,
    sources: [
      "console/{index.html,package.json,vite.config.ts}",
      "console/src/**/*.*",
      "src/{bulk,http,lib,links,model,templates}/*.ts",
      "sdk/src/**/*.ts",
      "package-lock.json",
    ],
    async write(to) {
      const { build } = await import("vite");
      const { default: config } = await import("../vite.config.ts");
      const outDir = { ...config.build, outDir: to, emptyOutDir: true };
      await build({ ...config, root: FOLDER, configFile: false, logLevel: "warn", build: outDir });
    },
  },
  { isOptional: process.argv[2] === "if-possible" },
);
