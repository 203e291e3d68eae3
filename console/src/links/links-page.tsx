import type { JSX } from "preact";
import { Page } from "../ui/page.tsx";

export const LinksPage = (): JSX.Element => <Page title="LinksPage">…</Page>;
