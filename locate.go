package memento

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"unicode/utf8"
)

// toolRoot is where every path of an agent starts.
const toolRoot = "/memories"

// A location is a path of the agent's, split into a mount and a path in its store.
type location struct {
	*mount
	path  Path // the store's
	slash bool // whether the agent's ended in a slash, which only a directory's may
}

// outsideMounts reports whether the location is in none of the stores.
func (p location) outsideMounts() bool { return p.store == nil && !p.path.IsRoot() }

// exists reports whether there is a file or a directory. If the storage fails, it
// returns true: the command fails later, with the storage's error.
func (p location) exists(ctx context.Context) bool {
	_, err := p.store.Peek(ctx, ByPath(p.path))
	return !errors.Is(err, ErrNotExist)
}

func (p location) isFile(ctx context.Context) bool {
	_, err := p.store.Peek(ctx, ByPath(p.path))
	return err == nil
}

// locate finds the location of the agent's path. A path that another program could
// read as a different path is refused: percent-encoding, backslashes, dots.
func (t *Tool) locate(path string) (location, error) {
	fail := func(format string, args ...any) (location, error) {
		args = append([]any{truncated(path, MaxPathBytes)}, args...)
		return location{}, refusal(ErrInvalidPath, format, args...)
	}
	rest, ok := below(path, toolRoot)
	if !ok {
		return fail(textOutside)
	}
	if strings.ContainsAny(rest, `%\.`) {
		if reason := ambiguity(rest); reason == textEscape {
			return fail(textEscape)
		} else if reason != "" {
			return fail(textInvalidPath, reason)
		}
	}
	m := &t.top
	for i := range t.mounts {
		if r, ok := below(path, t.mounts[i].root); ok {
			m, rest = &t.mounts[i], r
			break
		}
	}
	if rest == "" || rest == "/" {
		return location{m, Root, false}, nil
	}
	rest, slash := strings.CutSuffix(rest, "/")
	if strings.HasSuffix(rest, "/") {
		return fail(textInvalidPath, reasonEmptySegment)
	}
	if reason := pathFault(rest); reason != "" {
		return fail(textInvalidPath, reason)
	}
	return location{m, Path(rest), slash}, nil
}

// below returns the part of the path below a directory: "", or a text that starts
// with a slash. ok is false if the path is not the directory, nor below it.
func below(path, dir string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, dir)
	return rest, ok && (rest == "" || rest[0] == '/')
}

// locateWritable is locate for commands that write. It refuses a read-only mount
// before anything is looked up in it, and /memories if all mounts are read-only.
func (t *Tool) locateWritable(path string) (location, error) {
	p, err := t.locate(path)
	switch {
	case err != nil || !p.readOnly:
		return p, err
	case t.top.readOnly:
		return p, refusal(ErrProtected, textAllReadOnly, p.root)
	}
	return p, refusal(ErrProtected, textMountReadOnly, p.root, t.roots(false))
}

// locateFile is locateWritable for commands on a file; missing is the sentence for a
// path that can be none.
func (t *Tool) locateFile(path, missing string) (location, error) {
	p, err := t.locateWritable(path)
	if err == nil && (p.slash || p.path.IsRoot() || p.outsideMounts()) {
		return p, refusal(ErrNotExist, missing, path)
	}
	return p, err
}

// ambiguity returns why a path below the root is refused that another program might
// decode or resolve: textEscape if the result could be outside of the root, else a
// reason for textInvalidPath; "" if there is nothing to decode or resolve.
func ambiguity(rest string) string {
	plain := rest
	for range 8 { // encodings of encodings; more than this never decodes to anything
		decoded := unescape(plain)
		if decoded == plain {
			break
		}
		plain = decoded
	}
	depth := 0
	for name := range strings.SplitSeq(strings.ReplaceAll(plain, `\`, "/"), "/") {
		switch name {
		case "", ".":
		case "..":
			if depth--; depth < 0 {
				return textEscape
			}
		default:
			depth++
		}
	}
	switch {
	case plain != rest:
		return reasonPercent
	case strings.Contains(rest, `\`):
		return reasonBackslash
	}
	return ""
}

// unescape decodes the percent-encodings in s; a percent sign that starts none stays.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		if s[0] == '%' && len(s) >= 3 {
			if c, err := url.PathUnescape(s[:3]); err == nil {
				b.WriteString(c)
				s = s[3:]
				continue
			}
		}
		b.WriteByte(s[0])
		s = s[1:]
	}
	return b.String()
}

// truncated returns at most n bytes of a text that is only echoed.
func truncated(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
