/** The logo and the name. */
import type { JSX } from "preact";
import icon from "../icon.svg";

export const Logo = (): JSX.Element => (
  <span class="mark">
    <img src={icon} alt="" width="28" height="28" /> Godwit
  </span>
);
