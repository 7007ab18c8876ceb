package memento

import (
	"context"
	"errors"
	"iter"
	"strings"
)

// logFailure logs why a command failed that the agent asked for rightly.
func (t *Tool) logFailure(ctx context.Context, command string, err error) {
	if t.opts.Logger != nil {
		t.opts.Logger.ErrorContext(ctx, "memory tool: "+command+" failed", "error", t.sanitized(err))
	}
}

// sanitized returns the text of an error without the paths that it names, which are
// what the agent chose to call its memories, nor anything that looks sensitive to a
// detector.
func (t *Tool) sanitized(err error) string {
	text := err.Error()
	for p := range errorPaths(err) {
		text = strings.ReplaceAll(text, p, "…")
	}
	text = t.top.sanitized(text)
	for i := range t.mounts {
		text = t.mounts[i].sanitized(text)
	}
	return text
}

// sanitized returns a text without what looks sensitive to the store's detector,
// whatever the store's settings allow.
func (m *mount) sanitized(text string) string {
	if m.store == nil || m.store.detector == nil {
		return text
	}
	known := m.store.settings.Load()
	personal := known == nil || known.masker.settings.Personal
	return replaceFindings(text, m.store.detector.Detect(text, personal))
}

// errorPaths yields the paths that an error, and those it wraps, name.
func errorPaths(err error) iter.Seq[string] {
	return func(yield func(string) bool) {
		for err != nil {
			switch e := err.(type) {
			case *Error:
				if len(e.Path) > 1 && !yield(string(e.Path)) {
					return
				}
			case *PathError:
				if len(e.Path) > 1 && !yield(e.Path) {
					return
				}
			}
			err = errors.Unwrap(err)
		}
	}
}
