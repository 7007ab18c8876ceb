package memento

import (
	"cmp"
	"context"
	"fmt"
	"strings"
)

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
// that the tool neither hides nor refuses, and no two that differ only in case.
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
			if strings.EqualFold(name, other) {
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
