/** The icons of the menu: lines on a grid of 16, in the color of the text. */
import type { JSX } from "preact";

const PATHS: Readonly<Record<string, string>> = {
  "": "M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z",
  messages: "M2 3.5h12v8H7L4 14v-2.5H2z",
  conversations: "M1.5 2.5h9v6H5l-2 2v-2H1.5zM12.5 6h2v6H13v2l-2-2H6.5v-1.5",
  send: "M1.5 7.5L14.5 2l-4 12-3-5zM7.5 9l7-7",
  bulk: "M2 2.5h12v11H2zM2 6h12M2 9.7h12M6 2.5v11",
  batches: "M2 5.5L8 2.5l6 3-6 3zM2 8.5l6 3 6-3M2 11.5l6 3 6-3",
  verifications: "M8 1.5l5.5 2v4c0 3.5-2.5 6-5.5 7-3-1-5.5-3.5-5.5-7v-4zM5.5 8l2 2 3.5-4",
  templates: "M3.5 1.5h6l3 3v10h-9zM9.5 1.5v3h3M5.5 8h5M5.5 11h5",
  media: "M2 2.5h12v11H2zM2 11l3.5-3.5 3 3 2.5-2.5 3 3M10.5 5.5h.01",
  endpoints: "M6.5 9.5l3-3M7 4.5l2-2a3 3 0 0 1 4.5 4.5l-2 2M9 11.5l-2 2A3 3 0 0 1 2.5 9l2-2",
  suppressions: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM3.8 3.8l8.4 8.4",
  usage: "M2 2v12h12M5 11.5V8M8.5 11.5V4.5M12 11.5V6.5",
  carriers: "M8 8v6.5M5.5 10.5a3.5 3.5 0 1 1 5 0M3.5 12.5a6.3 6.3 0 1 1 9 0",
  keys: "M5 7.5a3 3 0 1 1-.01 6A3 3 0 0 1 5 7.5zM7.2 8.3L13.5 2M11 4.5l2 2",
  requests: "M2 4.5h9M8.5 2L11 4.5 8.5 7M14 11.5H5M7.5 9L5 11.5 7.5 14",
  audit: "M3 2h10v12H3zM5.5 5h5M5.5 8h5M5.5 11h3",
};

export const SectionIcon = ({ of }: { of: string }): JSX.Element => (
  <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
    <path d={PATHS[of]} />
  </svg>
);
