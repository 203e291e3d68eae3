/** The router: the current address below /console, its query, and navigation without a page load. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

const BASE = "/console";

export type Address = {
  /** The path below /console, without slashes at either end: `messages/msg_…`. */
  path: string;
  query: URLSearchParams;
};

const currentAddress = (): Address => ({
  path: location.pathname.slice(BASE.length).split("/").filter(Boolean).join("/"),
  query: new URLSearchParams(location.search),
});

const MOVED = "godwit:moved";

const notifyMoved = (): void => {
  dispatchEvent(new Event(MOVED));
};

const toHref = (path: string, query?: URLSearchParams): string => {
  const text = query?.toString() ?? "";
  return `${BASE}${path === "" ? "" : `/${path}`}${text === "" ? "" : `?${text}`}`;
};

export function navigate(path: string, query?: URLSearchParams): void {
  history.pushState(null, "", toHref(path, query));
  scrollTo(0, 0);
  notifyMoved();
}

/** Replaces the query of the current page. Text typed into a filter is not a step for the Back button. */
export function replaceQuery(query: URLSearchParams): void {
  history.replaceState(null, "", toHref(currentAddress().path, query));
  notifyMoved();
}

/** Opens another page in place of the current one, without a step for the Back button. */
export function redirect(path: string): void {
  history.replaceState(null, "", toHref(path));
  notifyMoved();
}

/** Opens the list of the records of which the current page shows one. */
export const leaveRecord = (): void => navigate(currentAddress().path.split("/")[0] ?? "");

export function useAddress(): Address {
  const [address, setAddress] = useState(currentAddress);
  useEffect(() => {
    const update = (): void => setAddress(currentAddress());
    addEventListener("popstate", update);
    addEventListener(MOVED, update);
    // The address may have changed before the listeners were added.
    update();
    return () => {
      removeEventListener("popstate", update);
      removeEventListener(MOVED, update);
    };
  }, []);
  return address;
}

type LinkProps = {
  to: string;
  query?: URLSearchParams | undefined;
  class?: string | undefined;
  "aria-current"?: "page" | undefined;
  children: ComponentChildren;
};

/** A real link: it can be opened in another tab or window. */
export function Link({ to, query, children, ...rest }: LinkProps): JSX.Element {
  const href = toHref(to, query);
  const onClick = (event: MouseEvent): void => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(to, query);
  };
  return (
    <a {...rest} href={href} onClick={onClick}>
      {children}
    </a>
  );
}
