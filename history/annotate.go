package history

import (
	"context"
	"fmt"

	"memento"
	"memento/internal/lines"
)

// An AnnotatedLine is a line of a memory, and where it comes from.
type AnnotatedLine struct {
	Text    string          // without the "\n" that ends it
	Version memento.Version // that last wrote the line, without contents

	// MayBeOlder reports whether the line may be older than Version, which is
	// then the oldest known to have it: what the memory held just before is no
	// longer known, because it was pruned or redacted.
	MayBeOlder bool
}

// Annotate returns the lines of a memory, each with the version that last wrote
// it, and notes that the memory was read. All is as of one instant of the call.
//
// Versions are compared line by line, as a diff does. A line that stays where it
// is among its neighbours keeps its version; one that is moved, changed in any
// byte or removed and brought back is new. A "\n" that is put or removed at the
// end of the last line changes no line, and neither does a rename.
//
// Errors: ErrInvalidPath, ErrNotExist, ErrIsDir.
func Annotate(ctx context.Context, s *memento.Store, ref memento.Ref) ([]AnnotatedLine, error) {
	m, err := s.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	lines, last, err := annotate(ctx, s, m.ID, "")
	switch {
	case err != nil:
		return nil, err
	case last.ID == "" || last.Redacted() || last.Operation == memento.Deleted:
		return nil, &memento.Error{Op: "annotate", Path: ref.Path, Err: memento.ErrNotExist} // since it was read
	}
	return lines, nil
}

// AnnotateVersion is Annotate for a memory as a version left it. It notes no read.
//
// Errors: ErrNotExist if there is no such version; ErrInvalid if it has no
// contents, being redacted or a deletion.
func AnnotateVersion(ctx context.Context, s *memento.Store, id memento.VersionID) ([]AnnotatedLine, error) {
	v, err := s.Version(ctx, id)
	if err != nil {
		return nil, err
	}
	lines, last, err := annotate(ctx, s, v.Memory, id)
	switch {
	case err != nil:
		return nil, err
	case last.ID != id:
		return nil, &memento.Error{Op: "annotate", Path: v.Path, Err: memento.ErrNotExist} // since it was read
	case last.Redacted():
		return nil, &memento.Error{Op: "annotate", Err: fmt.Errorf("%w: version %s is redacted; its contents are gone", memento.ErrInvalid, id)}
	case last.Operation == memento.Deleted:
		return nil, &memento.Error{Op: "annotate", Path: last.Path, Err: fmt.Errorf("%w: version %s is a deletion and has no contents", memento.ErrInvalid, id)}
	}
	return lines, nil
}

// annotate reads the versions of a memory until the one with the given ID, or to
// the newest if that is "", and returns the lines of the last one it has seen.
func annotate(ctx context.Context, s *memento.Store, id memento.MemoryID, until memento.VersionID) (lines []AnnotatedLine, last memento.Version, err error) {
	var a annotator
	for v, err := range s.Versions(ctx, memento.VersionListOptions{Memory: id, OldestFirst: true, Contents: true}) {
		if err != nil {
			return nil, memento.Version{}, err
		}
		a.add(v)
		if last = v; v.ID == until {
			break
		}
	}
	return a.annotated(), last, nil
}

// An annotator follows the lines of a memory from version to version, oldest
// first. It keeps the text of one.
type annotator struct {
	text  string
	lines []string
	by    []*origin // of each line
	known bool      // whether text is what the memory held before the next version
}

// An origin is what an AnnotatedLine says besides its text.
type origin struct {
	version    memento.Version
	mayBeOlder bool
}

func (a *annotator) add(v memento.Version) {
	text := v.Content
	v.Content = ""
	switch {
	case v.Operation == memento.Deleted: // redacted or not, there is nothing left
		*a = annotator{}
		return
	case v.Redacted():
		a.known = false
		return
	}
	// The first version known is all there is to say of its lines, unless it
	// made the memory: then there was nothing before it.
	now := &origin{v, !a.known && v.Operation != memento.Created}
	a.known = true
	if text == a.text {
		return
	}
	split := lines.Split(text)
	by := make([]*origin, len(split))
	for i, from := range lines.Kept(a.lines, split) {
		if by[i] = now; from >= 0 {
			by[i] = a.by[from]
		}
	}
	a.text, a.lines, a.by = text, split, by
}

func (a *annotator) annotated() []AnnotatedLine {
	annotated := make([]AnnotatedLine, len(a.lines))
	for i, from := range a.by {
		annotated[i] = AnnotatedLine{Text: a.lines[i], Version: from.version, MayBeOlder: from.mayBeOlder}
	}
	return annotated
}
