import { testReadme } from "./pasted-readme.ts";

testReadme("bash", {});
