// Markdown as a tree of elements. Contents are untrusted: HTML in them is shown as text, no
// image is loaded, and links lead only to web pages and mail, told apart by their address.
import { Lexer, type Token, type Tokens } from "marked";
import type { ComponentChildren, VNode } from "preact";
import { t } from "../texts";

const maxDepth = 24; // of nested lists and quotations; deeper ones are shown as text

export function Markdown({ text }: { text: string }) {
  const { front, body } = splitFrontMatter(text);
  return (
    <div class="markdown">
      {front && <pre class="front-matter">{front}</pre>}
      {blocks(Lexer.lex(body, { gfm: true }), 0)}
    </div>
  );
}

function splitFrontMatter(text: string) {
  const found = /^---\r?\n([\s\S]*?)\r?\n---\r?\n/.exec(text);
  return found ? { front: found[1], body: text.slice(found[0].length) } : { front: "", body: text };
}

const blocks = (tokens: Token[], depth: number): ComponentChildren => (depth > maxDepth ? tokens.map((each) => each.raw) : tokens.map((each, i) => block(each, i, depth)));

function block(token: Token, key: number, depth: number): ComponentChildren {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading": {
      const H = `h${Math.min(token.depth + 2, 6)}` as "h3"; // below the page's own headings
      return <H key={key} class={`h${token.depth}`}>{inline(token.tokens ?? [], depth)}</H>;
    }
    case "paragraph":
      return <p key={key}>{inline(token.tokens ?? [], depth)}</p>;
    case "code":
      return <pre key={key}><code>{token.text}</code></pre>;
    case "blockquote":
      return <blockquote key={key}>{blocks(token.tokens ?? [], depth + 1)}</blockquote>;
    case "hr":
      return <hr key={key} />;
    case "list": {
      const list = token as Tokens.List;
      const items = list.items.map((item, i) => (
        <li key={i} class={item.task ? "task" : undefined}>
          {item.task && <input type="checkbox" checked={item.checked} disabled aria-label={item.checked ? t.markdown.done : t.markdown.toDo} />}
          {blocks(item.tokens.filter((each) => each.type !== "checkbox"), depth + 1)}
        </li>
      ));
      return list.ordered ? <ol key={key} start={Number(list.start) || 1}>{items}</ol> : <ul key={key}>{items}</ul>;
    }
    case "table": {
      const table = token as Tokens.Table;
      const row = (cells: Tokens.TableCell[], Cell: "th" | "td") => cells.map((c, i) => <Cell key={i}>{inline(c.tokens, depth)}</Cell>);
      return (
        <div class="scroll" key={key} tabIndex={0} role="region" aria-label={t.markdown.table}>
          <table>
            <thead><tr>{row(table.header, "th")}</tr></thead>
            <tbody>{table.rows.map((cells, i) => <tr key={i}>{row(cells, "td")}</tr>)}</tbody>
          </table>
        </div>
      );
    }
    case "text":
      return <span key={key}>{token.tokens ? inline(token.tokens, depth) : token.text}</span>;
    default: // HTML, and what a later version of the parser may add
      return <p key={key} class="as-text">{token.raw}</p>;
  }
}

const inline = (tokens: Token[], depth: number): ComponentChildren => (depth > maxDepth ? tokens.map((each) => each.raw) : tokens.map((each, i) => piece(each, i, depth + 1)));

function piece(token: Token, key: number, depth: number): VNode | string | ComponentChildren {
  switch (token.type) {
    case "strong":
      return <strong key={key}>{inline(token.tokens ?? [], depth)}</strong>;
    case "em":
      return <em key={key}>{inline(token.tokens ?? [], depth)}</em>;
    case "del":
      return <del key={key}>{inline(token.tokens ?? [], depth)}</del>;
    case "codespan":
      return <code key={key}>{token.text}</code>;
    case "br":
      return <br key={key} />;
    case "link":
      return <Link key={key} href={token.href}>{inline(token.tokens ?? [], depth)}</Link>;
    case "image":
      return <span key={key} class="image" title={token.href}>{t.markdown.image(token.text || token.href)}</span>;
    case "escape":
      return token.text;
    case "text":
      return token.tokens ? inline(token.tokens, depth) : unescape(token);
    default:
      return token.raw;
  }
}

// unescape returns a text as it was written: the parser leaves entities alone.
const unescape = (token: Token) => (token as Tokens.Text).text;

function Link({ href, children }: { href: string; children: ComponentChildren }) {
  const to = safeAddress(href);
  if (!to) return <span class="no-link" title={t.markdown.noLink(href)}>{children}</span>;
  return <a href={to} title={to} target="_blank" rel="noopener noreferrer nofollow">{children}</a>;
}

export function safeAddress(href: string): string {
  try {
    const to = new URL(href); // without a base: relative links would lead into the console
    return ["http:", "https:", "mailto:"].includes(to.protocol) && !to.username && !to.password ? to.href : "";
  } catch {
    return "";
  }
}
