import type { JSX } from "preact";
import { Page } from "../ui/page.tsx";

export const SendPage = (): JSX.Element => <Page title="SendPage">…</Page>;
