// What a search has found in a memory, with its words marked.
import type { Match } from "../api";
import { t } from "../texts";

export function Excerpt({ match: { passage, words } }: { match: Match }) {
  if (!passage) return null; // only the path matches
  return (
    <div class="excerpt">
      <small class="lines">{t.search.lines(passage.first_line, passage.last_line)}</small>
      <Highlight text={passage.text} words={words} />
    </div>
  );
}

function Highlight({ text, words }: { text: string; words: string[] }) {
  const all = words.filter(Boolean).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (!all.length) return <>{text}</>;
  const parts = text.split(new RegExp(`(${all.join("|")})`, "iu"));
  return <>{parts.map((part, i) => (i % 2 ? <mark key={i}>{part}</mark> : part))}</>;
}
