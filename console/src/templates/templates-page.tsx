import type { JSX } from "preact";
import { Page } from "../ui/page.tsx";

export const TemplatesPage = (): JSX.Element => <Page title="TemplatesPage">…</Page>;
