// Bundles src into ../dist. The same sources make the same files, byte for byte.
import { build } from "esbuild";
import { readFile, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";

const dist = new URL("../dist/", import.meta.url).pathname;
await rm(dist, { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: ["src/early.ts", "src/main.tsx", "src/style.css"],
  entryNames: "assets/[name]-[hash]",
  chunkNames: "assets/[name]-[hash]",
  outdir: dist,
  bundle: true,
  splitting: true, // what the first page does not show is loaded after it, see src/later.tsx
  minify: true,
  format: "esm",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  metafile: true,
});
const built = Object.keys(metafile.outputs).map((file) => basename(file));
const named = (start, end) => "assets/" + built.find((file) => file.startsWith(start) && file.endsWith(end));
// The script imports others: they are loaded beside it, not after it.
const imported = Object.values(metafile.outputs).find((output) => output.entryPoint === "src/main.tsx").imports.filter((each) => each.kind === "import-statement");
const preloads = imported.map((each) => `<link rel="modulepreload" href="assets/${basename(each.path)}">\n`).join("");
const page = await readFile("src/index.html", "utf8");
await writeFile(dist + "index.html", page.replace("EARLY", named("early-", ".js")).replace("PRELOADS", preloads).replace("SCRIPT", named("main-", ".js")).replace("STYLE", named("style-", ".css")));
await writeFile(dist + "icon.svg", await readFile("src/icon.svg"));

// What the licenses of the bundled packages ask for.
const used = new Set(Object.keys(metafile.inputs).map((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]).filter(Boolean));
let notices = "The scripts of the console contain these packages.\n";
for (const name of [...used].sort()) {
  const folder = `node_modules/${name}/`;
  const { version, license } = JSON.parse(await readFile(folder + "package.json", "utf8"));
  const texts = await Promise.all(["LICENSE", "LICENSE.md", "license.md", "LICENSE.txt"].map((file) => readFile(folder + file, "utf8").catch(() => "")));
  const text = texts.find(Boolean);
  notices += `\n${"-".repeat(80)}\n${name} ${version} (${license})\n\n${text ? text.trim() : "See " + name + " in the npm registry."}\n`;
}
await writeFile(dist + "licenses.txt", notices);
