package memento

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Tool executes the commands of Claude's memory tool, memory_20250818, on a
// [Store], and answers in the words of that tool's documentation. It is safe for
// concurrent use.
//
// Paths are as the agent gives them: "/memories/notes.md" is the store's
// "/notes.md".
type Tool struct {
	store *Store
	opts  ToolOptions
}

// ToolOptions are the options of [NewTool]; nil means all defaults.
type ToolOptions struct {
	// Actor is recorded on every version that the tool makes.
	Actor Actor
	// CreateOverwrites lets create replace an existing file instead of refusing.
	CreateOverwrites bool
	// ViewChars is the most characters of a file that one view shows, line
	// numbers included; 0 means 16,000.
	ViewChars int
	// ViewEntries is the most entries of a directory that one view shows; 0 means 1,000.
	ViewEntries int
	// Logger is told by Run and RunBlock the causes of failures that are not the
	// agent's, of which the agent only reads that they happened; nil means
	// silent. The typed methods return them. Nothing that a memory holds is logged.
	Logger *slog.Logger
}

// NewTool returns the memory tool on s.
func NewTool(s *Store, opts *ToolOptions) *Tool {
	t := &Tool{store: s}
	if opts != nil {
		t.opts = *opts
	}
	if t.opts.ViewChars <= 0 {
		t.opts.ViewChars = 16_000
	}
	if t.opts.ViewEntries <= 0 {
		t.opts.ViewEntries = 1000
	}
	return t
}

// A Result is the answer to one command: what goes into its tool_result block.
type Result struct {
	Content string
	IsError bool
}

// A ToolError is a refusal. Its text is the sentence for the agent; errors.Is
// finds the reason.
type ToolError struct {
	Text string
	Err  error
}

func (e *ToolError) Error() string { return e.Text }
func (e *ToolError) Unwrap() error { return e.Err }

// Run executes the input of a tool_use block. Whatever the bytes, the answer is
// a sentence that the agent can act on.
func (t *Tool) Run(ctx context.Context, input []byte) Result {
	f, err := parseObject(input)
	if err != nil {
		return answer("", err)
	}
	return answer(t.run(ctx, f))
}

// fault logs what the agent cannot help.
func (t *Tool) fault(ctx context.Context, command string, err error) {
	if t.opts.Logger != nil && isFault(err) {
		t.opts.Logger.ErrorContext(ctx, "memory tool: "+command+" failed", "error", errors.Unwrap(err))
	}
}

func answer(text string, err error) Result {
	if err != nil {
		return Result{Content: err.Error(), IsError: true}
	}
	return Result{Content: text}
}

func (t *Tool) run(ctx context.Context, f fields) (string, error) {
	if !f.has("command") {
		return "", refusal(ErrInvalid, textNoCommand)
	}
	name, ok := f.text("command")
	if !ok {
		return "", refusal(ErrInvalid, textBadCommand, short(string(f["command"]), 100))
	}
	a := &args{command: name, fields: f}
	var do func() (string, error)
	switch name {
	case "view":
		path, lines := a.text("path"), a.lines("view_range")
		do = func() (string, error) { return t.view(ctx, path, lines) }
	case "create":
		path, text := a.text("path"), a.text("file_text")
		do = func() (string, error) { return t.Create(ctx, path, text) }
	case "str_replace":
		path, old, new := a.text("path"), a.text("old_str"), a.optionalText("new_str")
		do = func() (string, error) { return t.StrReplace(ctx, path, old, new) }
	case "insert":
		path, line, text := a.text("path"), a.integer("insert_line"), a.text("insert_text")
		do = func() (string, error) { return t.Insert(ctx, path, line, text) }
	case "delete":
		path := a.text("path")
		do = func() (string, error) { return t.Delete(ctx, path) }
	case "rename":
		from, to := a.text("old_path"), a.text("new_path")
		do = func() (string, error) { return t.Rename(ctx, from, to) }
	default:
		a.fail(textBadCommand, short(name, 100))
	}
	if a.err != nil {
		return "", a.err
	}
	text, err := do()
	t.fault(ctx, name, err)
	return text, err
}

// View shows a file with line numbers, or a directory two levels deep. The
// error of this and the other five commands is a [*ToolError].
func (t *Tool) View(ctx context.Context, path string) (string, error) {
	return t.view(ctx, path, nil)
}

// ViewLines shows the lines start to end of a file, both included, counted from
// 1. An end of -1, or beyond the last line, is the last line.
func (t *Tool) ViewLines(ctx context.Context, path string, start, end int) (string, error) {
	return t.view(ctx, path, &lineRange{start, end})
}

type lineRange struct{ start, end int }

func (r *lineRange) String() string { return fmt.Sprintf("%d, %d", r.start, r.end) }

func (t *Tool) view(ctx context.Context, path string, lines *lineRange) (string, error) {
	p, slash, err := locate(path)
	if err != nil {
		return "", err
	}
	if p.IsRoot() || slash {
		return t.viewDir(ctx, path, p, lines)
	}
	m, err := t.store.Get(ctx, ByPath(p))
	switch {
	case errors.Is(err, ErrIsDir):
		return t.viewDir(ctx, path, p, lines)
	case errors.Is(err, ErrNotExist):
		return "", refusal(err, textViewMissing, path)
	case err != nil:
		return "", refused(path, err)
	}
	total := countLines(m.Content)
	first, last := 1, total
	if lines != nil {
		if total == 0 {
			return "", refusal(ErrOutOfRange, textRangeOnEmpty, lines, path)
		}
		first, last = lines.start, min(lines.end, total)
		if lines.end == -1 {
			last = total
		}
		if first < 1 || first > total || last < first {
			return "", refusal(ErrOutOfRange, textBadViewRange, lines, path, lineCount(total), total)
		}
	}
	if total > maxLines {
		return "", refusal(ErrTooLarge, textTooManyLines, path)
	}
	header := fmt.Sprintf(textFile, path)
	if total == 0 {
		return strings.TrimSuffix(header, "\n"), nil
	}
	return header + numbered(m.Content, first, last, t.opts.ViewChars), nil
}

func (t *Tool) viewDir(ctx context.Context, path string, p Path, lines *lineRange) (string, error) {
	tr := tree{dir: p}
	empty := true
	for e, err := range t.store.List(ctx, ListOptions{Dir: p, Depth: 2, Brief: true}) {
		if err != nil {
			return "", refused(path, err)
		}
		tr.add(e)
		empty = false
	}
	switch {
	case empty && !p.IsRoot():
		return "", refusal(ErrNotExist, textViewMissing, path)
	case lines != nil:
		return "", refusal(ErrIsDir, textRangeOnDir, path)
	}
	return tr.show(path, t.opts.ViewEntries), nil
}

// Create makes a file. It refuses a path that exists, unless
// [ToolOptions].CreateOverwrites is set and it is a file.
func (t *Tool) Create(ctx context.Context, path, text string) (string, error) {
	p, slash, err := locate(path)
	switch {
	case err != nil:
		return "", err
	case p.IsRoot():
		return "", refusal(ErrInvalidPath, textRootCreate)
	case slash:
		return "", refusal(ErrInvalidPath, textInvalidPath, path, faultSlashEnd)
	case anyHidden(p):
		return "", refusal(ErrInvalidPath, textInvalidPath, path, faultHidden)
	}
	put := Put{Path: p, Content: text, If: IfAbsent()}
	if t.opts.CreateOverwrites {
		put.If = Condition{}
	}
	_, err = t.store.Apply(ctx, t.opts.Actor, put)
	switch {
	case errors.Is(err, ErrExist), errors.Is(err, ErrIsDir):
		return "", refusal(err, textExists, path)
	case err != nil:
		return "", refused(path, err)
	}
	return fmt.Sprintf(textCreated, path), nil
}

// StrReplace replaces the only occurrence of old in a file by new. Both are
// taken literally and may span lines.
func (t *Tool) StrReplace(ctx context.Context, path, old, new string) (string, error) {
	p, err := locateFile(path, textEditMissing)
	if err != nil {
		return "", err
	}
	if old == "" {
		return "", refusal(ErrInvalid, textEmptyOldStr)
	}
	var at int
	m, err := t.store.Edit(ctx, t.opts.Actor, p, func(text string) (edited string, err error) {
		edited, at, err = replaceOnce(text, old, new)
		return edited, err
	})
	var match *matchError
	switch {
	case errors.As(err, &match) && len(match.lines) == 0:
		return "", refusal(err, textNoMatch, old, path)
	case match != nil:
		return "", refusal(err, textManyMatches, old, lineList(match.lines))
	case errors.Is(err, ErrNotExist), errors.Is(err, ErrIsDir):
		return "", refusal(err, textEditMissing, path)
	case err != nil:
		return "", refused(path, err)
	}
	shown := snippet(m.Content, at, at+len(new), t.opts.ViewChars)
	if shown == "" {
		return textReplaced, nil
	}
	return textReplaced + "\n" + shown, nil
}

// Insert puts text, as whole lines, behind the given line of a file; 0 is its top.
func (t *Tool) Insert(ctx context.Context, path string, line int, text string) (string, error) {
	p, err := locateFile(path, textMissing)
	if err != nil {
		return "", err
	}
	_, err = t.store.Edit(ctx, t.opts.Actor, p, func(old string) (string, error) {
		return insertAfter(old, line, text)
	})
	var outside *rangeError
	switch {
	case errors.As(err, &outside):
		return "", refusal(err, textBadInsertLine, strconv.Itoa(line), outside.lines)
	case err != nil:
		return "", refused(path, err)
	}
	return fmt.Sprintf(textInserted, path), nil
}

// Delete removes a file, or a directory with everything in it.
func (t *Tool) Delete(ctx context.Context, path string) (string, error) {
	p, slash, err := locate(path)
	switch {
	case err != nil:
		return "", err
	case p.IsRoot():
		return "", refusal(ErrInvalidPath, textRootDelete)
	case slash && t.isFile(ctx, p):
		return "", refusal(ErrNotExist, textMissing, path)
	}
	if _, err := t.store.Apply(ctx, t.opts.Actor, Remove{Path: p}); err != nil {
		return "", refused(path, err)
	}
	return fmt.Sprintf(textDeleted, path), nil
}

// Rename moves a file or a directory. It never overwrites.
func (t *Tool) Rename(ctx context.Context, oldPath, newPath string) (string, error) {
	from, fromSlash, err := locate(oldPath)
	if err != nil {
		return "", err
	}
	to, toSlash, err := locate(newPath)
	switch {
	case err != nil:
		return "", err
	case from.IsRoot():
		return "", refusal(ErrInvalidPath, textRootRename)
	case (to.IsRoot() || anyHidden(to)) && !t.exists(ctx, from):
		return "", refusal(ErrNotExist, textMissing, oldPath)
	case to.IsRoot():
		return "", refusal(ErrExist, textDestination, newPath)
	case anyHidden(to):
		return "", refusal(ErrInvalidPath, textInvalidPath, newPath, faultHidden)
	case fromSlash && t.isFile(ctx, from):
		return "", refusal(ErrNotExist, textMissing, oldPath)
	case toSlash && t.isFile(ctx, from):
		return "", refusal(ErrInvalidPath, textInvalidPath, newPath, faultSlashEnd)
	}
	_, err = t.store.Apply(ctx, t.opts.Actor, Move{From: from, To: to})
	var (
		invalid *PathError
		at      *Error
	)
	switch {
	case errors.Is(err, ErrNotExist):
		return "", refusal(err, textMissing, oldPath)
	case errors.Is(err, ErrExist):
		return "", refusal(err, textDestination, newPath)
	case errors.As(err, &invalid) && invalid.Path != string(to) && invalid.Path != string(from):
		// The path of a file in the directory would break a rule.
		return "", refusal(err, textInvalidPath, toolPath(Path(invalid.Path)), invalid.Reason)
	case errors.Is(err, ErrTooLarge) && errors.As(err, &at):
		// Likewise a limit of the store.
		return "", refused(toolPath(at.Path), err)
	case err != nil:
		return "", refused(newPath, err)
	}
	return fmt.Sprintf(textRenamed, oldPath, newPath), nil
}

// exists reports whether there is a file or a directory at p, as far as can be told.
func (t *Tool) exists(ctx context.Context, p Path) bool {
	_, err := t.store.peek(ctx, ByPath(p))
	return !errors.Is(err, ErrNotExist)
}

func (t *Tool) isFile(ctx context.Context, p Path) bool {
	_, err := t.store.peek(ctx, ByPath(p))
	return err == nil
}

func refusal(err error, format string, args ...any) error {
	return &ToolError{Text: fmt.Sprintf(format, args...), Err: err}
}

// refused is a refusal in the general words for err.
func refused(path string, err error) error {
	return &ToolError{Text: failure(path, err), Err: err}
}

func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

const toolRoot = "/memories"

// toolPath returns what the agent calls p.
func toolPath(p Path) string {
	if p.IsRoot() {
		return toolRoot
	}
	return toolRoot + string(p)
}

// locate returns the store's path for the agent's, and whether that ended in a
// slash, which only a directory's may. What could be read as another path than
// it seems is refused: percent-encoding, backslashes, dots.
func locate(path string) (p Path, slash bool, err error) {
	rest, ok := strings.CutPrefix(path, toolRoot)
	if !ok || rest != "" && rest[0] != '/' {
		return "", false, refusal(ErrInvalidPath, textOutside, short(path, MaxPathBytes))
	}
	if rest == "" || rest == "/" {
		return Root, false, nil
	}
	if strings.ContainsAny(rest, `%\.`) {
		if reason := disguise(rest); reason == textEscape {
			return "", false, refusal(ErrInvalidPath, textEscape, short(path, MaxPathBytes))
		} else if reason != "" {
			return "", false, refusal(ErrInvalidPath, textInvalidPath, short(path, MaxPathBytes), reason)
		}
	}
	rest, slash = strings.CutSuffix(rest, "/")
	if strings.HasSuffix(rest, "/") {
		return "", false, refusal(ErrInvalidPath, textInvalidPath, short(path, MaxPathBytes), faultEmptySegment)
	}
	if reason := pathFault(rest); reason != "" {
		return "", false, refusal(ErrInvalidPath, textInvalidPath, short(path, MaxPathBytes), reason)
	}
	return Path(rest), slash, nil
}

// locateFile is locate for commands that need a file; missing is what they say
// when there is none.
func locateFile(path, missing string) (Path, error) {
	p, slash, err := locate(path)
	if err == nil && (slash || p.IsRoot()) {
		return "", refusal(ErrNotExist, missing, path)
	}
	return p, err
}

// disguise says what another program might read into a path below the root:
// textEscape if it could lead outside, or why it is refused all the same.
func disguise(rest string) string {
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
		return faultPercent
	case strings.Contains(rest, `\`):
		return faultBackslash
	}
	return ""
}

// unescape decodes the percent-encoding in s, and leaves alone what is none.
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

func anyHidden(p Path) bool {
	for name := range p.Segments() {
		if hidden(name) {
			return true
		}
	}
	return false
}

// short cuts text that is only echoed to at most n bytes.
func short(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
