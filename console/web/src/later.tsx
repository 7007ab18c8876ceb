// Loads what the first page does not show after that page: the other pages, and what shows
// texts and their differences.
import type { FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Failure } from "./api";
import { Loading, Problem } from "./parts/ui";
import { t } from "./texts";

type Rest = typeof import("./rest");

let rest: Rest | undefined;
let loading: Promise<Rest> | undefined;

// loadRest loads the rest, once; again if that failed.
export function loadRest(): Promise<Rest> {
  loading ??= import("./rest").then(
    (all) => (rest = all),
    () => {
      loading = undefined;
      throw new Failure(0, t.failure.offline);
    },
  );
  return loading;
}

// later returns a component of the rest. Until it is loaded, it shows that it is.
export function later<P extends object>(of: (rest: Rest) => FunctionComponent<P>): FunctionComponent<P> {
  return (props: P) => {
    const [state, set] = useState<{ error?: Failure; turn: number }>({ turn: 0 });
    useEffect(() => {
      if (!rest) loadRest().then(() => set((old) => ({ turn: old.turn + 1 })), (error: Failure) => set((old) => ({ ...old, error })));
    }, [state.turn]);
    if (rest) {
      const Component = of(rest);
      return <Component {...props} />;
    }
    if (state.error) return <Problem error={state.error} retry={() => set({ turn: state.turn + 1 })} />;
    return <Loading rows={2} />;
  };
}
