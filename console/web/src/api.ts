// The client of the public HTTP API, which the console reaches below /console/api: there the
// session's cookie stands for the key.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema";
import { t } from "./texts";

export type Schemas = components["schemas"];
export type Store = Schemas["Store"];
export type Memory = Schemas["Memory"];
export type Entry = Schemas["Memory"] | Schemas["MemoryPrefix"];
export type Version = Schemas["Version"];
export type Identity = Schemas["Identity"];
export type Actor = NonNullable<Version["created_by"]>;
export type Match = Schemas["Match"];
export type Key = Schemas["Key"];

type ErrorBody = Schemas["Error"]["error"] & {};

// An ErrorKind is what tells errors apart: their code, or else their type.
export type ErrorKind = Exclude<ErrorBody["code"] & {}, "invalid"> | (ErrorBody["type"] & {});

const pageHeader = { "Memento-Console": "1" };
const base = location.origin + location.pathname.replace(/\/[^/]*$/, "/");

// A Failure is an answer that is an error, or that did not come: then status is 0.
export class Failure extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly type = "",
    readonly body: Partial<ErrorBody> = {},
  ) {
    super(message);
  }

  // text says what went wrong in the language of the page.
  get text(): string {
    return t.failure.kinds[this.body.code ?? ""] ?? t.failure.kinds[this.type] ?? this.message;
  }
}

const offline = () => new Failure(0, t.failure.offline);

let signedOut = () => {};

// onSignedOut sets what is called when the session has ended.
export function onSignedOut(call: () => void) {
  signedOut = call;
}

async function send(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  try {
    return await fetch(input, init);
  } catch (cause) {
    if (init?.signal?.aborted || (input instanceof Request && input.signal.aborted)) throw cause;
    throw offline();
  }
}

export async function failureOf(answer: Response): Promise<Failure> {
  const body = (await answer.json().catch(() => ({}))) as Partial<Schemas["Error"]>;
  if (answer.status === 401) signedOut();
  return new Failure(answer.status, body.error?.message ?? t.failure.status(answer.status), body.error?.type, body.error);
}

export const api = createClient<paths>({
  baseUrl: base + "api",
  headers: pageHeader,
  fetch: async (request) => {
    const answer = await send(request);
    if (!answer.ok) throw await failureOf(answer);
    return answer;
  },
});

// must returns the data of an answer. An error has been thrown by then.
export async function must<T>(call: Promise<{ data?: T }>): Promise<T> {
  return (await call).data as T;
}

// raw sends a request whose body or answer is not JSON.
export async function raw(path: string, init: RequestInit = {}): Promise<Response> {
  const answer = await send(base + "api" + path, { ...init, headers: { ...pageHeader, ...init.headers } });
  if (!answer.ok) throw await failureOf(answer);
  return answer;
}

// allKeys returns the keys of the workspace, those that still work first.
export async function allKeys(): Promise<Key[]> {
  const { data } = await must(api.GET("/v1/admin/keys"));
  return data.sort((a, b) => Number(!!a.revoked_at) - Number(!!b.revoked_at));
}

// whoAmI returns who is signed in. What was asked for early is the first answer.
export async function whoAmI(): Promise<Identity> {
  const early = window.early?.whoami;
  delete window.early?.whoami;
  const answer = await early?.catch(() => undefined);
  if (!answer) return must(api.GET("/v1/whoami"));
  if (!answer.ok) throw await failureOf(answer);
  return answer.json();
}

export async function signIn(credential: { key: string } | { code: string }): Promise<Identity> {
  const answer = await send(base + "session", {
    method: "POST",
    headers: { ...pageHeader, "Content-Type": "application/json" },
    body: JSON.stringify(credential),
  });
  if (!answer.ok) {
    const body = (await answer.json().catch(() => ({}))) as Partial<Schemas["Error"]>;
    throw new Failure(answer.status, body.error?.message ?? t.failure.signIn, body.error?.type, body.error);
  }
  return answer.json();
}

// providerName returns the name of what people can sign in with by redirect; "" if there is none.
export async function providerName(): Promise<string> {
  const answer = await send(base + "session");
  return answer.ok ? ((await answer.json()) as { provider?: string }).provider ?? "" : "";
}

export async function signOut() {
  const answer = await send(base + "session", { method: "DELETE", headers: pageHeader });
  if (!answer.ok) throw await failureOf(answer);
}

// fullVersions returns a page of versions with their contents, the newest first.
export const fullVersions = (store: string, query: { memory_id?: string; "created_at[lte]"?: string; page?: string; limit?: number }) =>
  must(api.GET("/v1/memory_stores/{store}/memory_versions", { params: { path: { store }, query: { view: "full", ...query } } }));

// newestVersions returns a page of what happened in a store, with contents, the newest first.
export const newestVersions = (store: string, memory_id?: string) => async (page?: string) => {
  const { data, next_page } = await fullVersions(store, { memory_id, page });
  return { items: data, next: next_page ?? undefined };
};

// withPrevious returns a version with its contents, and the one of its memory before it.
export async function withPrevious(v: Version): Promise<{ version: Version; previous: Version | null }> {
  let page: string | undefined;
  let found: Version | null = null;
  do {
    const { data, next_page } = await fullVersions(v.memory_store_id, { memory_id: v.memory_id, "created_at[lte]": v.created_at, page });
    for (const each of data) {
      if (found) return { version: found, previous: each };
      if (each.id === v.id) found = each;
    }
    page = next_page ?? undefined;
  } while (page);
  return { version: found ?? v, previous: null };
}

// undo takes back a change, or says what that would do. Everything that its actor did at
// that very time belongs to it, such as the rename of a folder.
export const undo = (v: Version, dry_run: boolean) =>
  must(
    api.POST("/v1/memory_stores/{store}/undo", {
      params: { path: { store: v.memory_store_id } },
      body: { actor: actorRef(v.created_by), since: v.created_at, until: v.created_at, dry_run },
    }),
  );

function actorRef(actor: Actor | null) {
  const a = actor as Record<string, string> | null;
  switch (a?.type) {
    case "session_actor":
      return { kind: "session", id: a.session_id };
    case "api_actor":
      return { kind: "api_key", id: a.api_key_id };
    case "user_actor":
      return { kind: "user", id: a.user_id };
    case "service_account_actor":
      return { kind: "service_account", id: a.service_account_id };
    case "system_actor":
      return { kind: "system", id: a.system_id };
  }
  return { kind: a?.type?.replace(/_actor$/, ""), id: a?.id };
}
