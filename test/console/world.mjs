// A server with memories in it, and a browser: what every test begins with. MEMENTO names the
// binary, CHROMIUM the browser.
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

// patience is for machines that are busy with something else: a test that fails waits for long,
// and none depends on how fast anything is.
export const patience = { timeout: 900_000 };

export class Server {
  static async start(dir, address = "127.0.0.1:0", more = []) {
    const s = new Server();
    s.dir = dir ?? (await mkdtemp(join(tmpdir(), "memento-console-")));
    s.keyFile = join(s.dir, "key");
    s.process = spawn(process.env.MEMENTO, ["serve", "--json", "--backend", `sqlite:${s.dir}/store.db`, "--address", address, "--metrics", "off", "--first-key-file", s.keyFile, ...more], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH: process.env.PATH, HOME: s.dir },
    });
    let log = "";
    s.process.stderr.on("data", (d) => (log += d));
    s.ended = new Promise((done) => s.process.on("exit", done));
    const first = await Promise.race([new Promise((done) => createInterface(s.process.stdout).once("line", done)), s.ended]);
    if (typeof first !== "string") throw new Error("the server ended: " + log);
    const said = JSON.parse(first);
    s.url = said.url;
    s.address = said.address;
    s.key = (await readFile(s.keyFile, "utf8")).trim();
    return s;
  }

  async call(method, path, body, headers = {}) {
    const answer = await fetch(this.url + path, { method, headers: { "x-api-key": this.key, "content-type": "application/json", ...headers }, body: body && JSON.stringify(body) });
    const found = await answer.json();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(found)}`);
    return found;
  }

  store = (name, more = {}) => this.call("POST", "/v1/memory_stores", { name, ...more });

  // agent makes a call of the memory tool as a session does.
  async agent(store, session, input) {
    const result = await this.call("POST", `/v1/memory_stores/${store.id}/tool`, { ...input, session_id: session });
    if (result.is_error) throw new Error(result.content);
    return result.content;
  }

  async stop(signal = "SIGTERM") {
    this.process.kill(signal);
    await this.ended;
  }

  async remove() {
    await this.stop();
    await rm(this.dir, { recursive: true, force: true });
  }
}

export async function browser() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update"], timeout: 180_000 });
}

// signIn opens the console in a new context of the browser. Whatever the page reports as an
// error, or asks of another server, is in page.faults.
export async function signIn(b, server, { key = server.key, ...options } = {}) {
  const context = await b.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  context.setDefaultTimeout(Number(process.env.PATIENCE ?? 180_000));
  const page = await context.newPage();
  page.faults = [];
  page.on("pageerror", (e) => page.faults.push(String(e)));
  page.on("console", (m) => m.type() === "error" && !/Failed to load resource/.test(m.text()) && page.faults.push(m.text()));
  page.on("request", (r) => !r.url().startsWith(server.url) && !/^(data|blob):/.test(r.url()) && page.faults.push("request to " + r.url()));
  await page.goto(server.url + "/");
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "What your agents did" }).waitFor();
  return page;
}

// seed writes what agents of three kinds write.
export async function seed(s) {
  const notes = await s.store("team notes", { description: "What the support agents have learned about the product." });
  const shop = await s.store("project shop", { description: "Decisions and progress of the coding agent." });
  const ann = await s.store("user ann", { description: "Preferences of Ann." });
  await s.agent(ann, "sesn_0193", { command: "create", path: "/memories/preferences.md", file_text: "# Preferences\n\n- Answers in short sentences\n- Tables instead of prose\n- Time zone: Europe/Lisbon\n" });
  await s.agent(shop, "sesn_0188", { command: "create", path: "/memories/progress.md", file_text: "# Progress\n\n## Done\n- [x] Cart keeps its contents over a restart\n- [x] Prices in cents, never floats\n\n## Next\n- [ ] Discounts by customer group\n- [ ] Invoice as PDF\n\n| module | state |\n|---|---|\n| cart | done |\n| invoice | open |\n" });
  await s.agent(shop, "sesn_0188", { command: "create", path: "/memories/decisions/0001-money.md", file_text: "# Money is an integer\n\nPrices are stored in cents. **Floats lose cents** when summed.\n" });
  await s.agent(shop, "sesn_0188", { command: "create", path: "/memories/decisions/0002-sessions.md", file_text: "# Sessions in cookies\n\nStateless, signed, an hour long.\n" });
  await s.agent(notes, "sesn_0191", { command: "create", path: "/memories/refunds.md", file_text: "# Refunds\n\nUp to 30 days after delivery.\nThe customer pays for the return.\nAsk for the order number first.\n" });
  await s.agent(notes, "sesn_0191", { command: "str_replace", path: "/memories/refunds.md", old_str: "The customer pays for the return.", new_str: "We pay for the return above 50 euros; below, the customer does." });
  await s.agent(shop, "sesn_0188", { command: "str_replace", path: "/memories/progress.md", old_str: "- [ ] Discounts by customer group", new_str: "- [x] Discounts by customer group" });
  await s.agent(notes, "sesn_0192", { command: "create", path: "/memories/escalation.md", file_text: "# Escalation\n\nThe deploy token is ghp" + "_" + "k9XvQ2mZr7TbLw4YcNd8HsJfGp3ReUa6ViB1, kept here for the night shift.\n" });
  await s.agent(notes, "sesn_0192", { command: "rename", old_path: "/memories/escalation.md", new_path: "/memories/on-call/escalation.md" });
  await s.agent(shop, "sesn_0194", { command: "delete", path: "/memories/decisions/0002-sessions.md" });
  return { notes, shop, ann };
}
