package transfer

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"memento"
)

// Verify compares a store of the source with the target's, including contents, and
// changes nothing. Versions that the target lacks are differences.
//
// Errors: memento.ErrNoStore if one of the backends does not have the store; those of the
// backends.
func (c *Copier) Verify(ctx context.Context, info memento.StoreInfo) (Result, error) {
	r := Result{Store: info, Before: Complete}
	if _, err := c.To.GetStore(ctx, info.Workspace, info.ID); errors.Is(err, memento.ErrNoStore) {
		r.Before, r.Verified = Absent, true
		r.differs("the target does not have the store")
		return r, nil
	} else if err != nil {
		return r, err
	}
	newest, err := c.newest(ctx, info)
	if err != nil {
		return r, err
	}
	return r, c.verify(ctx, &r, newest)
}

// newest returns the Seq of the source's newest version, 0 if there is none.
func (c *Copier) newest(ctx context.Context, info memento.StoreInfo) (int64, error) {
	for v, err := range c.From.ListVersions(ctx, info.ID, memento.VersionListOptions{Limit: 1}) {
		return v.Seq, err
	}
	return 0, nil
}

func (r *Result) differs(format string, args ...any) {
	if len(r.Differences) < maxDifferences {
		r.Differences = append(r.Differences, fmt.Sprintf(format, args...))
	}
}

// verify compares source and target up to a version of the source; last is 0 if there is
// none.
func (c *Copier) verify(ctx context.Context, r *Result, last int64) error {
	info := r.Store
	upTo := last
	if last == 0 {
		upTo = -1 // no version; any that exists now is newer
	}
	if err := c.verifyVersions(ctx, r, upTo); err != nil {
		return err
	}
	found, usage, err := c.compareMemories(ctx, info.ID)
	if err != nil {
		return err
	}
	target, err := c.To.GetStore(ctx, info.Workspace, info.ID)
	if err != nil {
		return err
	}
	source, err := c.From.GetStore(ctx, info.Workspace, info.ID)
	if err != nil {
		return err
	}
	if target.Usage != usage {
		r.differs("the target counts %d memories with %d bytes, but has %d with %d", target.Usage.Memories, target.Usage.Bytes, usage.Memories, usage.Bytes)
	}
	// The newest versions are listed last, so that nothing that was compared is newer
	// than they are.
	since := map[memento.MemoryID]bool{}
	for v, err := range c.From.ListVersions(ctx, info.ID, memento.VersionListOptions{OldestFirst: true, After: max(last, 0)}) {
		if err != nil {
			return err
		}
		since[v.Memory] = true
	}
	r.SourceChanged = len(since) > 0
	for _, d := range found {
		if !since[d.memory] {
			r.differs("%s", d.text)
		}
	}
	if !r.SourceChanged && source.Usage != target.Usage {
		r.differs("the source has %d memories with %d bytes, the target %d with %d", source.Usage.Memories, source.Usage.Bytes, target.Usage.Memories, target.Usage.Bytes)
	}
	if source.UpdatedAt.Equal(info.UpdatedAt) {
		compareStores(r, source, target)
	} else {
		r.SourceChanged = true
	}
	r.Verified = true
	return nil
}

func (c *Copier) verifyVersions(ctx context.Context, r *Result, upTo int64) error {
	if upTo < 0 {
		for v, err := range c.To.ListVersions(ctx, r.Store.ID, memento.VersionListOptions{Limit: 1}) {
			if err != nil {
				return err
			}
			r.differs("the target has version %s, which the source lacks", v.ID)
		}
		return nil
	}
	a, err := c.align(ctx, r.Store, upTo, true, Verifying, func(difference string) { r.differs("%s", difference) })
	if err != nil {
		return err
	}
	r.Pruned = a.pruned
	if r.Versions == 0 {
		r.Present = a.both
	}
	if a.beyond > 0 {
		r.differs("the newest %d versions of the target are not in the source", a.beyond)
	}
	if a.lacking > 0 {
		r.Before = Partial
		r.differs("%d versions are not in the target", a.lacking)
	}
	for _, id := range a.redacted {
		r.differs("version %s is redacted in the source only", id)
	}
	return nil
}

func compareStores(r *Result, s, t memento.StoreInfo) {
	for _, d := range []struct {
		what  string
		other bool
	}{
		{"name", s.Name != t.Name},
		{"description", s.Description != t.Description},
		{"metadata", fmt.Sprint(s.Metadata) != fmt.Sprint(t.Metadata)},
		{"limits", s.Limits != t.Limits},
		{"settings", !s.Settings.Equal(&t.Settings)},
		{"envelope", s.Envelope != t.Envelope},
		{"creation time", !s.CreatedAt.Equal(t.CreatedAt)},
		{"archived state", s.Archived() != t.Archived()},
	} {
		if d.other {
			r.differs("the store differs in its %s in the target", d.what)
		}
	}
}

// A difference is one between memories.
type difference struct {
	memory memento.MemoryID // of the source, or of the target if the source has none
	text   string
}

// compareMemories compares the memories that both list, and sums up the target's.
func (c *Copier) compareMemories(ctx context.Context, id memento.StoreID) (found []difference, usage memento.Usage, err error) {
	opts := memento.ListOptions{}
	source, stop := iter.Pull2(c.From.List(ctx, id, opts))
	defer stop()
	opts.Contents = true
	s, err, more := source()
	differ := func(m *memento.Memory, what string) {
		// Memories that have changed since are left out later.
		if len(found) < 100*maxDifferences {
			found = append(found, difference{m.ID, fmt.Sprintf("memory %s %s", m.ID, what)})
		}
	}
	for t, terr := range c.To.List(ctx, id, opts) {
		if terr != nil {
			return nil, usage, terr
		}
		if t.Foreign {
			continue
		}
		usage.Memories++
		usage.Bytes += t.Memory.Size
		for more && err == nil && (s.Foreign || s.Path < t.Path) {
			if !s.Foreign {
				differ(&s.Memory, "is not in the target")
			}
			s, err, more = source()
		}
		if err != nil {
			return nil, usage, err
		}
		if !more || s.Path > t.Path {
			differ(&t.Memory, "is in the target only")
			continue
		}
		if what := compareMemory(&s.Memory, &t.Memory); what != "" {
			differ(&s.Memory, what)
			if t.Memory.ID != s.Memory.ID {
				differ(&t.Memory, "is at the path of another memory of the source")
			}
		}
		s, err, more = source()
	}
	for ; more && err == nil; s, err, more = source() {
		if !s.Foreign {
			differ(&s.Memory, "is not in the target")
		}
	}
	return found, usage, err
}

func compareMemory(s, t *memento.Memory) string {
	switch {
	case s.ID != t.ID:
		return "is not at its path in the target"
	case s.Version != t.Version:
		return "has a different newest version in the target"
	case s.SHA256 != t.SHA256 || s.Size != t.Size || s.Digest != t.Digest:
		return "has different contents in the target"
	case memento.HashContent(t.Content) != t.SHA256:
		return "has contents in the target that do not match their hash"
	case !s.UpdatedAt.Equal(t.UpdatedAt):
		return "has a different time in the target"
	}
	return ""
}
