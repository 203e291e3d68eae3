import type { JSX } from "preact";
import { Page } from "../ui/page.tsx";

export const OverviewPage = (): JSX.Element => <Page title="OverviewPage">…</Page>;
