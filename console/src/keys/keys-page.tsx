import type { JSX } from "preact";
import { Page } from "../ui/page.tsx";

export const KeysPage = (): JSX.Element => <Page title="KeysPage">…</Page>;
