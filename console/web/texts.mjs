// Finds texts for people that stand outside of src/texts, where they cannot be translated: the
// build fails if there are any. Text between tags and in attributes that are shown or spoken
// must not have letters. Other strings must not look like words, but for those that name
// something to a machine.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import ts from "typescript";

const shown = new Set(["aria-label", "aria-description", "aria-valuetext", "alt", "label", "placeholder", "title"]);
const forMachines = new Set(["class", "className", "style", "href", "to", "type", "accept", "id", "for", "name", "rel", "role", "autocomplete"]);

// What looks like a word and is none: headers, keys of the keyboard, names in the API and of storage.
const known = [
  /^(Content-Type|Memento-Console)$/, /^(Arrow(Up|Down|Left|Right)|Home|End|Enter|Escape)$/, /^(GET|POST|PATCH|DELETE)$/,
  /^(Remembered|Updated|Forgot|Renamed)$/, /^memento( theme|:first-change)?$/, /^(<<<<<<< yours|=======|>>>>>>> theirs)$/, /^(sk-memento-…|memento console|view \/memories|⌘K|UTC)$/,
];
const hasLetters = (text) => /\p{L}/u.test(text);
const looksLikeWords = (text) => /^\p{Lu}\p{L}+|\p{L}{2,} \p{L}/u.test(text.trim());
const isKnown = (text) => known.some((each) => each.test(text.trim()));

// textsIn returns the pieces of a node that are text, if it is a string.
function textsIn(node) {
  if (ts.isStringLiteralLike(node)) return [node.text];
  if (ts.isTemplateExpression(node)) return [node.head.text, ...node.templateSpans.map((span) => span.literal.text)];
  return [];
}

// isForMachines reports whether a string is in a place that nobody reads.
function isForMachines(node) {
  for (let up = node.parent; up; up = up.parent) {
    if (ts.isImportDeclaration(up) || ts.isTypeNode(up) || ts.isElementAccessExpression(up)) return true;
    if (ts.isJsxAttribute(up)) return forMachines.has(up.name.getText());
    if (ts.isCallExpression(up) && /^(document|element|el|box\.current\??|\(e\.target as HTMLElement\))\.|querySelector|closest|api\.(GET|POST|DELETE|PATCH)$/.test(up.expression.getText())) return true;
  }
  return false;
}

export function outsideOfCatalogue(file, source) {
  const found = [];
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true, file.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS);
  const report = (node, text) => found.push(`${file}:${tree.getLineAndCharacterOfPosition(node.getStart()).line + 1}: ${JSON.stringify(text.trim())}`);
  const visit = (node) => {
    if (ts.isJsxText(node) && hasLetters(node.text) && !isKnown(node.text)) report(node, node.text);
    for (const text of textsIn(node)) {
      const attribute = ts.isJsxAttribute(node.parent) && node.parent.name.getText();
      if (isKnown(text)) continue;
      if (attribute ? shown.has(attribute) && hasLetters(text) : looksLikeWords(text) && !isForMachines(node)) report(node, text);
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return found;
}

const files = (await readdir("src", { recursive: true })).filter((file) => /\.tsx?$/.test(file) && !/^(texts\/|schema\.d\.ts)/.test(file));
const found = (await Promise.all(files.sort().map(async (file) => outsideOfCatalogue(file, await readFile(join("src", file), "utf8"))))).flat();
if (found.length) {
  console.error(`Texts outside of src/texts:\n${found.join("\n")}`);
  process.exit(1);
}
