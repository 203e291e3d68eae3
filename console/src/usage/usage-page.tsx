import type { JSX } from "preact";
import { Page } from "../ui/page.tsx";

export const UsagePage = (): JSX.Element => <Page title="UsagePage">…</Page>;
