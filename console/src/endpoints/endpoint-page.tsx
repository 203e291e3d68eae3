import type { JSX } from "preact";
import { Page } from "../ui/page.tsx";

export const EndpointPage = (_: { id: string }): JSX.Element => <Page title="EndpointPage">…</Page>;
