package memento

import (
	"context"
	"errors"
	"iter"
	"strings"
)

// fault logs what the agent cannot help.
func (t *Tool) fault(ctx context.Context, command string, err error) {
	if t.opts.Logger != nil && isFault(err) {
		t.opts.Logger.ErrorContext(ctx, "memory tool: "+command+" failed", "error", t.censored(errors.Unwrap(err)))
	}
}

// censored returns the text of an error without what looks sensitive to any of
// the stores: an error names paths, also of commands that only look, which
// nothing has checked.
func (t *Tool) censored(err error) string {
	text := t.top.censored(err, err.Error())
	for i := range t.mounts {
		text = t.mounts[i].censored(err, text)
	}
	return text
}

// censored returns the text of an error without what looks sensitive to the
// store's detector, in the text or in a path that it names, whatever the
// store's settings allow.
func (m *mount) censored(err error, text string) string {
	if m.store == nil || m.store.detector == nil {
		return text
	}
	known := m.store.known.Load()
	personal := known == nil || known.screen.settings.Personal
	clean := func(s string) string { return redacted(s, m.store.detector.Detect(s, personal)) }
	for p := range errorPaths(err) {
		text = strings.ReplaceAll(text, p, clean(p))
	}
	return clean(text)
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
