package memento

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"memento/internal/lines"
	"memento/internal/lookalike"
)

// A Tool executes the commands of Claude's memory tool ([ToolType]) on a [Store], or
// on several, and answers with the sentences of that tool's documentation. It is safe
// for concurrent use.
//
// Paths are those of the agent: "/memories/notes.md" is the store's "/notes.md". With
// several stores, "/memories/team/notes.md" is "/notes.md" of the store mounted as team.
type Tool struct {
	top    mount   // /memories
	mounts []mount // the directories in it; none if it is a store itself
	opts   ToolOptions
}

// ToolOptions are the options of [NewTool] and [NewScopedTool]; nil means all defaults.
type ToolOptions struct {
	// Actor is recorded on every version that the tool makes.
	Actor Actor
	// CreateOverwrites lets create replace an existing file instead of refusing.
	CreateOverwrites bool
	// ReadOnly lets the agent view everything, but change nothing.
	ReadOnly bool
	// Profile has the texts of answers; nil means those of the documentation.
	Profile *Profile
	// ViewChars is the most characters of a file that one view shows, line
	// numbers included; 0 means 16,000.
	ViewChars int
	// ViewEntries is the most entries of a directory that one view shows; 0 means 1,000.
	ViewEntries int
	// ListingBytes is the most bytes of these entries; 0 means no limit.
	ListingBytes int
	// Search lets the agent search: a view of /memories/.search/WORDS shows the passages
	// that answer a question, or have the words, best first. Tell the agent so with
	// [SearchGuidance]. A view of a large directory does.
	Search bool
	// Logger logs the errors of the storage that make Run, RunBlock and RunCall
	// fail; the agent reads only that the command failed. Nil means no log. See
	// also [Result].Err; the typed methods return the errors. Neither contents
	// nor paths are logged.
	Logger *slog.Logger
}

// NewTool returns the memory tool on s. For several stores see [NewScopedTool].
// It panics if s is nil.
func NewTool(s *Store, opts *ToolOptions) *Tool {
	if s == nil {
		panic("memento.NewTool: the store is nil; open one with OpenNamed or OpenStore")
	}
	o := opts.withDefaults()
	return &Tool{top: mount{store: s, root: toolRoot, readOnly: o.ReadOnly}, opts: o}
}

func (o *ToolOptions) withDefaults() ToolOptions {
	var opts ToolOptions
	if o != nil {
		opts = *o
	}
	if opts.ViewChars <= 0 {
		opts.ViewChars = 16_000
	}
	if opts.ViewEntries <= 0 {
		opts.ViewEntries = 1000
	}
	return opts
}

// A Result is the answer to one command: what goes into its tool_result block.
type Result struct {
	Content string
	IsError bool

	// Err is the error of the storage that made the command fail, for programs;
	// the agent reads in Content only that it failed. It is nil if the command
	// was executed, and if it was refused for what the agent asked for, such as
	// a file that does not exist.
	Err error
}

// A ToolError is a refusal. Its text is the sentence for the agent; errors.Is
// finds the reason.
type ToolError struct {
	Text string
	Err  error

	sentence string // of sentences.go, and what is filled in: for a Profile
	args     []any
}

func (e *ToolError) Error() string { return e.Text }
func (e *ToolError) Unwrap() error { return e.Err }

// Run executes the input of a tool_use block. Whatever the bytes, the answer is
// a sentence that the agent can act on.
func (t *Tool) Run(ctx context.Context, input []byte) Result {
	c, _ := ParseInput(input) // runCall answers with the error
	return t.runCall(ctx, c)
}

func (t *Tool) runCall(ctx context.Context, c Call) Result {
	if c.run == nil {
		return Result{Content: t.opts.Profile.errorText(cmp.Or(c.refused, errNoCommand).Error()), IsError: true}
	}
	text, err := c.run(ctx, t)
	if err == nil {
		return Result{Content: text}
	}
	r := Result{Content: err.Error(), IsError: true}
	if isFailure(err) {
		r.Err = errors.Unwrap(err)
		t.logFailure(ctx, c.command, r.Err)
	}
	return r
}

// errNoCommand is how a Call is refused that ParseCall has not returned.
var errNoCommand = refusal(ErrInvalid, textNoCommand)

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

func (t *Tool) view(ctx context.Context, path string, span *lineRange) (answer string, err error) {
	defer t.inProfile("view", &err)
	if v, ok := t.searchView(path); ok {
		return t.search(ctx, v, span)
	}
	p, err := t.locate(path)
	switch {
	case err != nil:
		return "", err
	case p.outsideMounts():
		return "", refusal(ErrNotExist, textViewMissing, path)
	case p.path.IsRoot(), p.slash:
		return t.viewDir(ctx, path, p, span)
	}
	m, err := p.store.Get(ctx, ByPath(p.path))
	switch {
	case errors.Is(err, ErrIsDir):
		return t.viewDir(ctx, path, p, span)
	case errors.Is(err, ErrNotExist):
		return "", refusal(err, textViewMissing, path)
	case err != nil:
		return "", p.refused(path, err)
	}
	total := lines.Count(m.Content)
	first, last := 1, total
	if span != nil {
		if total == 0 {
			return "", refusal(ErrOutOfRange, textRangeOnEmpty, span, path)
		}
		first, last = span.start, min(span.end, total)
		if span.end == -1 {
			last = total
		}
		if first < 1 || first > total || last < first {
			return "", refusal(ErrOutOfRange, textBadViewRange, span, path, lineCount(total), total)
		}
	}
	if total > maxLines {
		return "", refusal(ErrTooLarge, textTooManyLines, path, strconv.Itoa(total))
	}
	header := t.say(textFile, path)
	if total == 0 {
		return strings.TrimSuffix(header, "\n"), nil
	}
	return header + numbered(m.Content, first, last, t.opts.ViewChars) + p.viewNotice(ctx, m, first, last), nil
}

// viewNotice returns the line to add to a view of the lines first to last of a memory, if
// some are marked as instructions. If that cannot be told, the memory is shown without it.
func (m *mount) viewNotice(ctx context.Context, memory Memory, first, last int) string {
	found, err := m.store.Instructions(ctx, Version{Path: memory.Path, Content: memory.Content})
	found = slices.DeleteFunc(found, func(f FindingLocation) bool { return f.Line > 0 && (f.Line < first || f.Line > last) })
	if err != nil || len(found) == 0 {
		return ""
	}
	return "\n" + fmt.Sprintf(textViewMarked, findingsText(found))
}

func (t *Tool) viewDir(ctx context.Context, path string, p location, span *lineRange) (string, error) {
	var tr tree
	empty := true
	notices := ""
	if p.store == nil {
		var err error
		if notices, err = t.addMounts(ctx, &tr); err != nil {
			return "", err
		}
	} else {
		prefix := len(p.path.Prefix())
		for e, err := range p.store.List(ctx, ListOptions{Dir: p.path, Depth: 2, Brief: true}) {
			if err != nil {
				return "", p.refused(path, err)
			}
			tr.add(string(e.Path[prefix:]), e.Dir, e.Usage.Bytes)
			empty = false
		}
	}
	switch {
	case empty && !p.path.IsRoot():
		return "", refusal(ErrNotExist, textViewMissing, path)
	case span != nil:
		return "", refusal(ErrIsDir, textRangeOnDir, path)
	}
	return tr.show(t.say(textDirectory, path), path, t.opts.ViewEntries, t.opts.ListingBytes, t.opts.Profile.size) + notices + t.searchHint(p.mount, len(tr.items)), nil
}

// Create makes a file. It refuses a path that exists, unless
// [ToolOptions].CreateOverwrites is set and it is a file.
func (t *Tool) Create(ctx context.Context, path, text string) (answer string, err error) {
	defer t.inProfile("create", &err)
	p, err := t.locateWritable(path)
	switch {
	case err != nil:
		return "", err
	case p.outsideMounts():
		return "", t.refuseOutsideMounts(path)
	case p.path.IsRoot():
		return "", t.refuseRoot(p)
	case p.slash:
		return "", refusal(ErrInvalidPath, textInvalidPath, path, reasonSlashEnd)
	case p.path.IsHidden():
		return "", refusal(ErrInvalidPath, textInvalidPath, path, reasonHidden)
	}
	put := Put{Path: p.path, Content: text, If: IfAbsent()}
	if t.opts.CreateOverwrites {
		put.If = Condition{}
	}
	r, err := p.store.Apply(ctx, t.opts.Actor, put)
	switch {
	case errors.Is(err, ErrExist), errors.Is(err, ErrIsDir):
		return "", refusal(err, textExists, path)
	case err != nil:
		return "", p.refused(path, err)
	}
	return t.say(textCreated, path) + p.notices(path, r), nil
}

// StrReplace replaces the only occurrence of old in a file by new. Both are
// taken literally and may span lines.
func (t *Tool) StrReplace(ctx context.Context, path, old, new string) (answer string, err error) {
	defer t.inProfile("str_replace", &err)
	p, err := t.locateFile(path, textEditMissing)
	if err != nil {
		return "", err
	}
	if old == "" {
		return "", refusal(ErrInvalid, textEmptyOldStr)
	}
	var at int
	done, err := p.store.Edit(ctx, t.opts.Actor, p.path, func(text string) (edited string, err error) {
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
		return "", p.refused(path, err)
	}
	from, to := done.offsetAfter(at), done.offsetAfter(at+len(new))
	text := t.say(textReplaced, path)
	if shown := snippet(done.Memory.Content, from, to, t.opts.ViewChars); shown != "" {
		text += "\n" + shown
	}
	return text + p.notices(path, done.Receipt), nil
}

// Insert inserts text, as whole lines, after the given line of a file; 0 inserts it at the top.
func (t *Tool) Insert(ctx context.Context, path string, line int, text string) (answer string, err error) {
	defer t.inProfile("insert", &err)
	p, err := t.locateFile(path, textMissing)
	if err != nil {
		return "", err
	}
	done, err := p.store.Edit(ctx, t.opts.Actor, p.path, func(old string) (string, error) {
		return insertAfter(old, line, text)
	})
	var outside *rangeError
	switch {
	case errors.As(err, &outside):
		return "", refusal(err, textBadInsertLine, strconv.Itoa(line), outside.lines)
	case err != nil:
		return "", p.refused(path, err)
	}
	return t.say(textInserted, path) + p.notices(path, done.Receipt), nil
}

// Delete removes a file, or a directory with everything in it.
func (t *Tool) Delete(ctx context.Context, path string) (answer string, err error) {
	defer t.inProfile("delete", &err)
	p, err := t.locateWritable(path)
	switch {
	case err != nil:
		return "", err
	case p.outsideMounts():
		return "", t.refuseOutsideMounts(path)
	case p.path.IsRoot():
		return "", refusal(ErrInvalidPath, textRootDelete, p.root)
	case p.slash && p.isFile(ctx):
		return "", refusal(ErrNotExist, textMissing, path)
	}
	if _, err := p.store.Apply(ctx, t.opts.Actor, Remove{Path: p.path}); err != nil {
		return "", p.refused(path, err)
	}
	return t.say(textDeleted, path), nil
}

// Rename moves a file or a directory. It never overwrites.
func (t *Tool) Rename(ctx context.Context, oldPath, newPath string) (answer string, err error) {
	defer t.inProfile("rename", &err)
	from, err := t.locateWritable(oldPath)
	if err != nil {
		return "", err
	}
	to, err := t.locateWritable(newPath)
	switch {
	case err != nil:
		return "", err
	case from.path.IsRoot():
		return "", refusal(ErrInvalidPath, textRootRename, from.root)
	case from.outsideMounts():
		return "", refusal(ErrNotExist, textMissing, oldPath)
	case (from.mount != to.mount || to.path.IsRoot() || to.path.IsHidden()) && !from.exists(ctx):
		return "", refusal(ErrNotExist, textMissing, oldPath)
	case to.path.IsRoot():
		return "", refusal(ErrExist, textDestination, newPath)
	case to.outsideMounts():
		return "", t.refuseOutsideMounts(newPath)
	case to.path.IsHidden():
		return "", refusal(ErrInvalidPath, textInvalidPath, newPath, reasonHidden)
	case from.slash && from.isFile(ctx):
		return "", refusal(ErrNotExist, textMissing, oldPath)
	case to.slash && from.isFile(ctx):
		return "", refusal(ErrInvalidPath, textInvalidPath, newPath, reasonSlashEnd)
	case from.mount != to.mount:
		return "", refusal(ErrInvalidPath, textOtherStore, oldPath, newPath, from.root, to.root)
	}
	_, err = from.store.Apply(ctx, t.opts.Actor, Move{From: from.path, To: to.path})
	var (
		invalid   *PathError
		sensitive *SensitiveError
		at        *Error
	)
	switch {
	case errors.Is(err, ErrNotExist):
		return "", refusal(err, textMissing, oldPath)
	case errors.Is(err, ErrExist):
		return "", refusal(err, textDestination, newPath)
	case errors.As(err, &sensitive) && sensitive.Found[0].Line > 0:
		return "", refusal(err, textSensitiveMove, oldPath, findingsText(sensitive.Found))
	case errors.As(err, &invalid) && invalid.Path != string(to.path) && invalid.Path != string(from.path):
		// A file in the directory would get an invalid path.
		return "", refusal(err, textInvalidPath, from.agentPath(Path(invalid.Path)), invalid.Reason)
	case errors.Is(err, ErrTooLarge) && errors.As(err, &at):
		// A file in the directory would get a path that is too long for the store.
		return "", from.refused(from.agentPath(at.Path), err)
	case err != nil:
		return "", from.refused(newPath, err)
	}
	return t.say(textRenamed, oldPath, newPath), nil
}

func refusal(err error, format string, args ...any) error {
	return &ToolError{Text: fmt.Sprintf(format, args...), Err: err, sentence: format, args: args}
}

func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// A Mount is a store as one of the directories that a [Tool] on several stores shows.
type Mount struct {
	// Name is the name of the directory: the store's "/notes.md" is
	// "/memories/NAME/notes.md" for the agent. See [CheckMountNames].
	Name string
	// Store has the files of the directory. If it does not exist yet, the
	// directory is empty; the first write makes the store.
	Store *Store
	// ReadOnly lets the agent view everything in it, but change nothing.
	ReadOnly bool
}

// NewScopedTool returns the memory tool on several stores, each a directory in
// /memories with limits and settings of its own. /memories has nothing but the mounts:
// they cannot be renamed or deleted, and nothing can be moved from one to another.
//
// Errors: ErrInvalid for the names that [CheckMountNames] refuses, and for a
// Store that is nil or mounted twice. Two Stores that were opened on the same store
// of a backend are not noticed: both show its memories.
func NewScopedTool(mounts []Mount, opts *ToolOptions) (*Tool, error) {
	t := &Tool{top: mount{root: toolRoot, readOnly: true}, opts: opts.withDefaults()}
	var names []string
	under := map[*Store]string{}
	for _, m := range mounts {
		other, twice := under[m.Store]
		switch {
		case m.Store == nil:
			return nil, fmt.Errorf("%w: mount %q has no store", ErrInvalid, m.Name)
		case twice:
			return nil, fmt.Errorf("%w: mounts %q and %q have the same store", ErrInvalid, other, m.Name)
		}
		under[m.Store] = m.Name
		names = append(names, m.Name)
		root := toolRoot + "/" + m.Name
		readOnly := m.ReadOnly || t.opts.ReadOnly
		t.mounts = append(t.mounts, mount{store: m.Store, root: root, label: " (" + root + ")", readOnly: readOnly})
		t.top.readOnly = t.top.readOnly && readOnly
	}
	if err := CheckMountNames(names...); err != nil {
		return nil, err
	}
	return t, nil
}

const maxMountBytes = 64 // of a mount's name

// CheckMountNames returns ErrInvalid unless the mounts of one tool can have
// these names: at least one, each a single name of a path, of at most 64 bytes,
// that the tool neither hides nor refuses, and no two that look alike.
func CheckMountNames(names ...string) error {
	if len(names) == 0 {
		return fmt.Errorf("%w: there are no mounts", ErrInvalid)
	}
	for i, name := range names {
		reason := ""
		switch {
		case name == "":
			reason = reasonEmpty
		case len(name) > maxMountBytes:
			reason = fmt.Sprintf("it is longer than %d bytes", maxMountBytes)
		case strings.Contains(name, "/"):
			reason = "it has a slash"
		case hidden(name) && pathFault("/"+name) == "":
			reason = reasonHidden
		default:
			reason = cmp.Or(pathFault("/"+name), ambiguity("/"+name))
		}
		if reason != "" {
			return fmt.Errorf("%w: mount name %q: %s", ErrInvalid, name, reason)
		}
		for _, other := range names[:i] {
			if strings.EqualFold(name, other) || lookalike.Of(name).Alike(lookalike.Of(other)) {
				return fmt.Errorf("%w: mount names %q and %q: there can be only one of them", ErrInvalid, other, name)
			}
		}
	}
	return nil
}

// A mount is a directory that the agent sees, and the store whose root it is.
type mount struct {
	store    *Store // nil for toolRoot if it holds mounts
	root     string // the directory
	label    string // the directory in brackets, for sentences about a store; "" if the tool has only one
	readOnly bool
}

// agentPath returns what the agent calls a path of the store.
func (m *mount) agentPath(p Path) string {
	if p.IsRoot() || p == "" {
		return m.root
	}
	return m.root + string(p)
}

// refused is a refusal with the general sentence for err. path is the agent's.
func (m *mount) refused(path string, err error) error {
	e := &ToolError{Text: m.failure(path, err), Err: err}
	if e.Text == fmt.Sprintf(textMissing, path) { // the only general sentence that profiles have
		e.sentence, e.args = textMissing, []any{path}
	}
	return e
}

// addMounts adds the mounts and their direct entries to a tree. A mount that cannot
// be listed becomes a notice; if no mount can be listed, that is an error.
func (t *Tool) addMounts(ctx context.Context, tr *tree) (notices string, err error) {
	failed := 0
	for i := range t.mounts {
		m := &t.mounts[i]
		if cause := m.list(ctx, tr); cause != nil {
			err = m.refused(m.root, cause)
			if isContextError(cause) {
				return "", err
			}
			failed++
			if isFailure(cause) {
				t.logFailure(ctx, "view", cause)
			}
			notices += "\n" + fmt.Sprintf(textMountFails, m.root)
		}
	}
	if failed < len(t.mounts) {
		err = nil
	}
	return notices, err
}

// list adds the mount and its direct entries to a tree.
func (m *mount) list(ctx context.Context, tr *tree) error {
	name := m.root[len(toolRoot)+1:]
	tr.parent(name) // even if it is empty
	for e, err := range m.store.List(ctx, ListOptions{Depth: 1, Brief: true}) {
		if err != nil {
			return err
		}
		tr.add(name+string(e.Path), e.Dir, e.Usage.Bytes)
	}
	return nil
}

// roots lists the mounts; with all, those that are read-only as well.
func (t *Tool) roots(all bool) string {
	var roots []string
	for _, m := range t.mounts {
		switch {
		case !m.readOnly:
			roots = append(roots, m.root)
		case all:
			roots = append(roots, m.root+" (read-only)")
		}
	}
	return strings.Join(roots, ", ")
}

// refuseOutsideMounts refuses to make something in /memories outside of the mounts.
func (t *Tool) refuseOutsideMounts(path string) error {
	return refusal(ErrInvalidPath, textOutsideMounts, path, t.roots(true))
}

// refuseRoot refuses to create a directory that exists: /memories or a mount.
func (t *Tool) refuseRoot(p location) error {
	in := p.mount
	for i := range t.mounts {
		if in.store == nil && !t.mounts[i].readOnly {
			in = &t.mounts[i]
		}
	}
	return refusal(ErrInvalidPath, textRootCreate, p.root, in.root)
}
