/** Where the console is: the address under /console, its query, and how to get elsewhere without loading the page again. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

const BASE = "/console";

export type Address = {
  /** Below /console, without slashes at its ends: `messages/msg_…`. */
  path: string;
  query: URLSearchParams;
};

const currentAddress = (): Address => ({
  path: location.pathname.slice(BASE.length).replaceAll(/^\/+|\/+$/g, ""),
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

/** The same page with another query: what is typed into a filter is no step to go back to. */
export function replaceQuery(query: URLSearchParams): void {
  history.replaceState(null, "", toHref(currentAddress().path, query));
  notifyMoved();
}

/** Another page in the place of this one. */
export function redirect(path: string): void {
  history.replaceState(null, "", toHref(path));
  notifyMoved();
}

export function useAddress(): Address {
  const [address, setAddress] = useState(currentAddress);
  useEffect(() => {
    const update = (): void => setAddress(currentAddress());
    addEventListener("popstate", update);
    addEventListener(MOVED, update);
    // What has moved before there was anybody to listen.
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

/** A real link: what asks for another tab or window gets it. */
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
