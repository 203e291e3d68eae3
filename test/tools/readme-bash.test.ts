import { testReadme } from "../support/pasted-readme.ts";

testReadme("bash", {});
