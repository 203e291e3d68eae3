import type { JSX } from "preact";
import { Page } from "../ui/page.tsx";

export const EndpointsPage = (): JSX.Element => <Page title="EndpointsPage">…</Page>;
