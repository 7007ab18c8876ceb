package s3store

import (
	"context"
	"errors"

	"memento"
	"memento/backend"
)

// Redact erases a version's path and contents for good. When it returns without an error
// they are gone from the bucket, too. If the storage fails in between, a repeated Redact
// continues the removal.
func (b *Backend) Redact(ctx context.Context, id memento.StoreID, vid memento.VersionID, by memento.Actor) (left memento.Version, err error) {
	const op = "redact"
	s, done, err := b.use(ctx, id)
	if err != nil {
		return left, b.failed(op, err)
	}
	defer done()
	for {
		var h historyView
		if err := s.view(ctx, func(st *state) error { h = st.history(); return nil }); err != nil {
			return left, b.failed(op, err)
		}
		v, err := s.version(ctx, h, vid)
		if err != nil {
			return left, b.failed(op, err)
		}
		if v == nil {
			return left, &memento.Error{Op: op, Err: memento.ErrNotExist}
		}
		if v.Redacted != 0 {
			return v.version(), b.failed(op, s.collectGarbage(ctx, h.lastRemoval)) // an earlier call may not have finished
		}
		var emptied *version
		var at int64 // number of the record that redacts
		err = s.submit(ctx, func(t *transaction) error {
			if t.state.lastRemoval != h.lastRemoval || len(t.rec.Prune) > 0 || len(t.rec.Redact) > 0 {
				return errStale
			}
			if m := t.entryByID(v.Memory); m != nil && m.memory.Version == vid {
				return &memento.Error{Op: op, Path: m.memory.Path, Err: memento.ErrHead}
			}
			c := redaction{Seq: v.Seq, At: stampOf(t.time(b.time())), By: by}
			emptied, at = v.redacted(c), t.rec.N
			t.rec.Redact = append(t.rec.Redact, c)
			return nil
		})
		if errors.Is(err, errStale) {
			continue
		}
		if err != nil {
			return left, b.failed(op, err)
		}
		return emptied.version(), b.failed(op, s.purgeRemoved(ctx, at))
	}
}

// Prune removes versions that opts does not keep, and what writers that crashed have left:
// blobs, and segments of the search index.
func (b *Backend) Prune(ctx context.Context, id memento.StoreID, opts memento.PruneOptions) (sum memento.Pruned, err error) {
	const op = "prune"
	s, done, err := b.use(ctx, id)
	if err != nil {
		return sum, b.failed(op, err)
	}
	defer done()
	for {
		var h historyView
		if err := s.view(ctx, func(st *state) error { h = st.history(); return nil }); err != nil {
			return sum, b.failed(op, err)
		}
		sum = memento.Pruned{}
		var gone []int64
		used := map[string]bool{} // blobs
		p := backend.Pruner{PruneOptions: opts}
		err := s.walk(ctx, h, false, 0, func(part []*version) error {
			for _, v := range part {
				if v.Ref != nil && v.Ref.Blob != "" {
					used[v.Ref.Blob] = true
				}
				full := v.version()
				if opts.Memory != "" && v.Memory != opts.Memory || !p.Goes(&full) {
					continue
				}
				gone = append(gone, v.Seq)
				sum.Versions++
				sum.Bytes += v.Size
			}
			return ctx.Err()
		})
		if err != nil {
			return memento.Pruned{}, b.failed(op, err)
		}
		if opts.DryRun {
			return sum, nil
		}
		var at int64 // number of the record that prunes
		if len(gone) > 0 {
			err = s.submit(ctx, func(t *transaction) error {
				if t.state.lastRemoval != h.lastRemoval || len(t.rec.Prune) > 0 || len(t.rec.Redact) > 0 {
					return errStale
				}
				t.rec.Prune, at = gone, t.rec.N
				return nil
			})
		}
		if errors.Is(err, errStale) {
			continue
		}
		if len(gone) == 0 && len(h.redacted)+len(h.pruned) > 0 {
			at = h.lastRemoval // another call has not finished its removal
		}
		if err == nil && at > 0 {
			err = s.purgeRemoved(ctx, at)
		}
		if err == nil {
			err = s.deleteOrphans(ctx, used)
		}
		if err == nil {
			err = s.b.deleteUnreferencedSegments(ctx, s.id)
		}
		if errors.Is(err, errUnreadableIndex) {
			err = nil // nothing was erased
		}
		return sum, b.failed(op, err)
	}
}

// deleteOrphans deletes blobs that no version refers to, because their commit failed.
// Young ones are left: their commit may be in progress.
func (s *store) deleteOrphans(ctx context.Context, used map[string]bool) error {
	found, err := s.b.s3.list(ctx, blobDir(s.id), "", 0, true)
	if err != nil {
		return err
	}
	var orphans []string
	for _, o := range found {
		if name := o.key[len(blobDir(s.id)):]; !used[name] && s.b.isOlder(o.modified, s.b.keepLog) {
			orphans = append(orphans, o.key)
		}
	}
	return s.b.s3.remove(ctx, orphans...)
}
