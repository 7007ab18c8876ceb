// What is loaded after the first page, see later.tsx.
export { Keys } from "./pages/keys";
export { Search } from "./pages/search";
export { StorePage } from "./pages/store";
export { Stores } from "./pages/stores";
export { Diff } from "./parts/diff";
