package memstore

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"memento"
	"memento/backend"
	"memento/internal/listing"
)

// GetVersion returns a version with its contents.
func (b *Backend) GetVersion(ctx context.Context, id memento.StoreID, version memento.VersionID) (v memento.Version, err error) {
	err = b.read(ctx, "get version", id, func(s *store) error {
		seq, exists := s.byVID[version]
		if !exists {
			return &memento.Error{Op: "get version", Err: memento.ErrNotExist}
		}
		v = s.versions[s.from(seq)]
		return nil
	})
	return v, err
}

// ListVersions yields versions, newest first by default.
func (b *Backend) ListVersions(ctx context.Context, id memento.StoreID, opts memento.VersionListOptions) iter.Seq2[memento.Version, error] {
	return func(yield func(memento.Version, error) bool) {
		var versions []memento.Version
		err := b.read(ctx, "list versions", id, func(s *store) error {
			versions = s.history(opts)
			return nil
		})
		listing.Yield(ctx, versions, err, yield)
	}
}

func (s *store) history(opts memento.VersionListOptions) []memento.Version {
	// The first index, and the direction.
	i, step := len(s.versions)-1, -1
	if opts.After > 0 {
		i = s.from(opts.After) - 1
	}
	if opts.OldestFirst {
		i, step = s.from(opts.After+1), 1
	}
	var found []memento.Version
	for ; i >= 0 && i < len(s.versions); i += step {
		v := s.versions[i]
		if !opts.Matches(&v) {
			continue
		}
		if !opts.Contents {
			v.Content = ""
		}
		found = append(found, v)
		if len(found) == opts.Limit {
			break
		}
	}
	return found
}

// from returns the index of the first version with this Seq or a later one.
func (s *store) from(seq int64) int {
	i, _ := slices.BinarySearchFunc(s.versions, seq, func(v memento.Version, seq int64) int { return cmp.Compare(v.Seq, seq) })
	return i
}

// Prune removes versions, except those that opts keep.
func (b *Backend) Prune(ctx context.Context, id memento.StoreID, opts memento.PruneOptions) (sum memento.Pruned, err error) {
	err = b.write(ctx, "prune", id, func(s *store) error {
		p := backend.Pruner{PruneOptions: opts}
		var stay []memento.Version // newest first
		for _, v := range slices.Backward(s.versions) {
			if opts.Memory != "" && v.Memory != opts.Memory || !p.Goes(&v) {
				stay = append(stay, v)
				continue
			}
			sum.Versions++
			sum.Bytes += v.Size
			if !opts.DryRun {
				delete(s.byVID, v.ID)
			}
		}
		if !opts.DryRun {
			slices.Reverse(stay)
			s.versions = stay
		}
		return nil
	})
	return sum, err
}

// Redact removes a version's path and contents permanently.
func (b *Backend) Redact(ctx context.Context, id memento.StoreID, version memento.VersionID, by memento.Actor) (v memento.Version, err error) {
	const op = "redact"
	err = b.write(ctx, op, id, func(s *store) error {
		seq, exists := s.byVID[version]
		if !exists {
			return &memento.Error{Op: op, Err: memento.ErrNotExist}
		}
		kept := &s.versions[s.from(seq)]
		if m := s.byID[kept.Memory]; m != nil && m.Version == version {
			return &memento.Error{Op: op, Path: m.Path, Err: memento.ErrHead}
		}
		if !kept.Redacted() {
			kept.Path, kept.Content, kept.SHA256, kept.Digest, kept.Size = "", "", "", "", 0
			kept.RedactedAt, kept.RedactedBy = b.time(s.latest), by
		}
		v = *kept
		return nil
	})
	return v, err
}

// readEvery is the resolution of read times, so that most reads change nothing.
const readEvery = time.Minute

// MarkRead records that a memory was read now.
func (b *Backend) MarkRead(id memento.StoreID, memory memento.MemoryID) {
	at := backend.StoredTime(b.now())
	if !b.readLongAgo(id, memory, at) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.stores[id]; s != nil && s.byID[memory] != nil {
		s.byID[memory].ReadAt = at
	}
}

func (b *Backend) readLongAgo(id memento.StoreID, memory memento.MemoryID, at time.Time) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	s := b.stores[id]
	if s == nil || s.byID[memory] == nil {
		return false
	}
	return at.Sub(s.byID[memory].ReadAt) >= readEvery
}

// SyncReads does nothing: read times are recorded at once.
func (b *Backend) SyncReads(ctx context.Context) error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.open(ctx, "sync reads")
}
