// Where the page is, in the fragment of its address.
import { useEffect, useState } from "preact/hooks";

export type Tab = "memories" | "history" | "about";
export type Route =
  | { page: "activity" }
  | { page: "stores" }
  | { page: "keys" }
  | { page: "search"; query: string }
  | { page: "store"; store: string; tab: Tab; path?: string };

export const toStore = (store: string, tab: Tab = "memories", path?: string) =>
  `#/store/${store}${tab === "memories" ? "" : "/" + tab}${path ? "/memory/" + encodeURIComponent(path) : ""}`;

export const toSearch = (query: string) => "#/search/" + encodeURIComponent(query);

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined; // not an address of ours
  }
}

export function parse(fragment: string): Route {
  const parts = fragment.replace(/^#\/?/, "").split("/");
  if (parts[0] === "stores" || parts[0] === "keys") return { page: parts[0] };
  if (parts[0] === "search") return { page: "search", query: decoded(parts[1] ?? "") ?? "" };
  if (parts[0] !== "store" || !parts[1]) return { page: "activity" };
  const route: Route = { page: "store", store: parts[1], tab: "memories" };
  if (parts[2] === "history" || parts[2] === "about") route.tab = parts[2];
  if (parts[2] === "memory" && parts[3]) route.path = decoded(parts[3]);
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
