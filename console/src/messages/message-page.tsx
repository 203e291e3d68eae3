import type { JSX } from "preact";
import { Page } from "../ui/page.tsx";

export const MessagePage = (_: { id: string }): JSX.Element => <Page title="MessagePage">…</Page>;
