// Where the page is, in the fragment of its address.
import { useEffect, useState } from "preact/hooks";

export type Tab = "memories" | "history" | "about";
export type Route =
  | { page: "activity" }
  | { page: "stores" }
  | { page: "keys" }
  | { page: "store"; store: string; tab: Tab; path?: string };

export const toStore = (store: string, tab: Tab = "memories", path?: string) =>
  `#/store/${store}${tab === "memories" ? "" : "/" + tab}${path ? "/memory/" + encodeURIComponent(path) : ""}`;

export function parse(fragment: string): Route {
  const parts = fragment.replace(/^#\/?/, "").split("/");
  if (parts[0] === "stores" || parts[0] === "keys") return { page: parts[0] };
  if (parts[0] !== "store" || !parts[1]) return { page: "activity" };
  const route: Route = { page: "store", store: parts[1], tab: "memories" };
  if (parts[2] === "history" || parts[2] === "about") route.tab = parts[2];
  if (parts[2] === "memory" && parts[3]) {
    try {
      route.path = decodeURIComponent(parts[3]);
    } catch {
      // not an address of ours
    }
  }
  return route;
}

export const go = (fragment: string) => {
  location.hash = fragment;
};

export function useRoute(): Route {
  const [route, set] = useState(() => parse(location.hash));
  useEffect(() => {
    const changed = () => set(parse(location.hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}
