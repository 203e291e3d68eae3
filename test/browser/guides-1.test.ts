import { testGuides } from "../support/docs-pages.ts";

testGuides(1);
