// Searching the stores: the API searches one at a time.
import { api, must, type Match } from "./api";

const atOnce = 4; // requests; browsers open six connections, and one has the changes

const searchStore = (store: string, query: string, limit: number, signal?: AbortSignal): Promise<Match[]> =>
  must(api.GET("/v1/memory_stores/{store}/search", { params: { path: { store }, query: { query, limit } }, signal })).then((answer) => answer.data);

// searchStores searches stores, a few at once, and calls found for each as its answer comes. A
// store that is deleted meanwhile has no matches; any other error ends the search.
export async function searchStores(stores: string[], query: string, limit: number, signal: AbortSignal, found: (store: string, matches: Match[]) => void) {
  const left = [...stores];
  const work = async () => {
    for (let store = left.shift(); store && !signal.aborted; store = left.shift()) {
      const matches = await searchStore(store, query, limit, signal).catch((cause) => {
        if (cause.status === 404) return [];
        left.length = 0;
        throw cause;
      });
      if (!signal.aborted) found(store, matches);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}
