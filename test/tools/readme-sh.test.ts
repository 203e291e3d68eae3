import { testReadme } from "./pasted-readme.ts";

// Some users let npm run no scripts of packages.
testReadme("sh", { npm_config_ignore_scripts: "true" });
