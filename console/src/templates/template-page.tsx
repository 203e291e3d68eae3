import type { JSX } from "preact";
import { Page } from "../ui/page.tsx";

export const TemplatePage = (_: { id: string }): JSX.Element => <Page title="TemplatePage">…</Page>;
