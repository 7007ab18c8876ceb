// Small parts that all pages use.
import { createContext, type ComponentChildren } from "preact";
import { useContext, useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Failure, type Identity, type Version } from "../api";
import { fullTime, ago, who } from "../format";
import { useNow } from "../hooks";
import { t } from "../texts";

// Session is who has signed in.
export type Session = { identity: Identity; keyNames: Map<string, string>; canWrite: boolean; isAdmin: boolean };
export const SessionContext = createContext<Session>(null as unknown as Session);
export const useSession = () => useContext(SessionContext);

export function Time({ at }: { at: string }) {
  const now = useNow();
  return <time dateTime={at} title={fullTime(at)}>{ago(at, now)}</time>;
}

export function By({ v }: { v: Version }) {
  const { keyNames, identity } = useSession();
  const by = who(v.created_by, keyNames);
  const me = by.id !== "" && by.id === identity.id;
  return <span class={`by ${by.kind}`} title={by.id}>{by.name}{me && t.actor.you}</span>;
}

export function Problem({ error, retry }: { error: Failure; retry?: () => void }) {
  return (
    <div class="problem" role="alert">
      <div>
        <p>{error.text}</p>
        {error.text !== error.message && <p class="said" lang="en">{error.message}</p>}
      </div>
      {retry && <button type="button" onClick={retry}>{t.common.tryAgain}</button>}
    </div>
  );
}

export const Loading = ({ rows = 4 }: { rows?: number }) => (
  <div class="skeleton" role="status" aria-label={t.common.loading}>
    {Array.from({ length: rows }, (_, i) => <div key={i} />)}
  </div>
);

// More loads the next page of a listing.
export const More = ({ pages, text = t.common.showMore }: { pages: { hasMore: boolean; busy: boolean; more: () => void }; text?: string }) =>
  pages.hasMore ? <button type="button" class="more" disabled={pages.busy} onClick={pages.more}>{pages.busy ? t.common.loadingMore : text}</button> : null;

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Dialog({ title, onClose, children, wide }: { title: string; onClose: () => void; children: ComponentChildren; wide?: boolean }) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    ref.current!.showModal();
    return () => before?.focus?.();
  }, []);
  return (
    <dialog ref={ref} class={wide ? "wide" : ""} aria-labelledby={id} onCancel={(e) => { e.preventDefault(); onClose(); }} onClick={(e) => e.target === ref.current && onClose()}>
      <div class="dialog">
        <header>
          <h2 id={id}>{title}</h2>
          <button type="button" class="plain" aria-label={t.common.close} onClick={onClose}>✕</button>
        </header>
        {children}
      </div>
    </dialog>
  );
}

type Toast = { id: number; text: string; action?: { label: string; run: () => void } };
let toasts: Toast[] = [];
let shown = (_: Toast[]) => {};
let nextToast = 0;

function close(id: number) {
  toasts = toasts.filter((each) => each.id !== id);
  shown(toasts);
}

// toast says what was done, and offers to undo it.
export function toast(text: string, action?: Toast["action"]) {
  const id = ++nextToast;
  toasts = [...toasts.slice(-2), { id, text, action }];
  shown(toasts);
  setTimeout(() => close(id), action ? 60_000 : 12_000);
}

export function Toasts() {
  const [all, set] = useState(toasts);
  useEffect(() => {
    shown = set;
  }, []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {all.map((each) => (
        <div key={each.id}>
          <span>{each.text}</span>
          {each.action && <button type="button" onClick={() => { close(each.id); each.action!.run(); }}>{each.action.label}</button>}
          <button type="button" class="plain" aria-label={t.common.dismiss} onClick={() => close(each.id)}>✕</button>
        </div>
      ))}
    </div>
  );
}

export function Tabs<T extends string>({ label, all, now, choose }: { label: string; all: [T, string][]; now: T; choose: (chosen: T) => void }) {
  return (
    <div class="tabs" role="group" aria-label={label}>
      {all.map(([id, text]) => (
        <button key={id} type="button" aria-pressed={id === now} onClick={() => choose(id)}>{text}</button>
      ))}
    </div>
  );
}
