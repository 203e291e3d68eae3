import type { JSX } from "preact";
import { Page } from "../ui/page.tsx";

export const MessagesPage = (): JSX.Element => <Page title="MessagesPage">…</Page>;
