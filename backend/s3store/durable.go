package s3store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"memento"
)

// What makes a write durable. The promise: a write that was reported as done is as durable
// as the object storage makes a PUT that it has answered, and what has failed is not there.
//
//  1. Contents that are too large for the record are written as objects of their own.
//  2. The record is written at the next number of the log, on condition that there is none
//     (If-None-Match: *). From here on the write is done.
//  3. If the answer is lost or came too late, the log is read: the record there has the name
//     of the commit that it is of. If that cannot be found out, the outcome is unknown:
//     memento.ErrUncertain.
//  4. If another process has written the record with this number, the contents are deleted,
//     and commit plans the write again.

// writeRecord writes a transaction's record at the next number of the log. It returns
// false if another record has that number.
func (s *store) writeRecord(ctx context.Context, t *transaction, began time.Time) (won bool, err error) {
	r := t.rec
	r.Usage = usageForm{t.info.Usage.Memories, t.info.Usage.Bytes}
	data, err := r.encode()
	if err != nil {
		return false, fmt.Errorf("%w: %w", memento.ErrInvalid, err)
	}
	s.mu.Lock()
	s.lastCommit = r.Commit
	s.mu.Unlock()
	err = parallel(ctx, len(t.blobs), func(ctx context.Context, i int) error {
		return s.b.s3.write(ctx, blobKey(s.id, t.blobs[i].name), []byte(t.blobs[i].content))
	})
	if err != nil {
		return false, err
	}
	_, uncertain, err := s.b.s3.put(ctx, logKey(s.id, r.N), data, ifAbsent)
	switch {
	case err == nil && age(began) < s.b.maxAge:
		won = true
	case err == nil, errors.Is(err, errPrecondition):
		// The request took too long to trust its answer, or it was refused because an
		// earlier attempt of it succeeded.
		if won, err = s.committed(ctx, r.N, r.Commit); err != nil {
			return false, outcomeUnknown(memento.ErrUnavailable)
		}
	case uncertain:
		// If the number is taken now, the record there decides the outcome. If not, an
		// attempt may still be carried out.
		if won, err = s.committed(ctx, r.N, r.Commit); err != nil || !won {
			if err == nil && s.recordExists(ctx, r.N) {
				return false, nil
			}
			return false, outcomeUnknown(memento.ErrUnavailable)
		}
	default:
		s.deleteBlobs(ctx, t)
		return false, err
	}
	if !won {
		s.deleteBlobs(ctx, t)
		return false, nil
	}
	for _, c := range t.blobs {
		s.cacheText(ref{Blob: c.name}, c.content, c.sha256)
	}
	s.mu.Lock()
	s.applyLocked(&r, true)
	if s.st != nil && s.st.n >= r.N {
		s.confirmed = later(s.confirmed, began)
	}
	due := s.st != nil && s.compactionDue()
	small := s.st != nil && isIndexable(s.st.info.Usage)
	s.mu.Unlock()
	if small {
		s.b.index.Wrote(s.id, r.indexable())
	}
	if due {
		s.b.runBackground(func(ctx context.Context) { s.compactIfDue(ctx) }) // after an error a later write tries again
	}
	return true, nil
}

// recordExists reports whether the log has an object with number n.
func (s *store) recordExists(ctx context.Context, n int64) bool {
	_, err := s.readLog(ctx, n)
	return err == nil
}

// committed reports whether record n is that of the given commit. It looks in the log and
// in the segments.
func (s *store) committed(ctx context.Context, n int64, commit string) (bool, error) {
	for range 10 {
		m, _, err := s.b.getManifest(ctx, s.id)
		if err != nil {
			return false, err
		}
		if m.Deleted && n <= m.End {
			return false, nil // the records of a deleted store are gone
		}
		if g, compacted := m.segmentOf(n); compacted {
			d, err := s.b.segmentHeader(ctx, g)
			if errors.Is(err, errNotFound) {
				continue
			}
			if err != nil {
				return false, err
			}
			for _, r := range d.Records {
				if r.N == n {
					return r.Commit == commit, nil
				}
			}
			return false, nil
		}
		r, err := s.readLog(ctx, n)
		switch {
		case errors.Is(err, errNotFound):
			return false, nil
		case err != nil:
			return false, err
		case r.Compacted: // after the manifest was read
			continue
		}
		return r.Commit == commit, nil
	}
	return false, memento.ErrUnavailable
}

// deleteBlobs deletes the blobs of a transaction that was not committed. If it fails,
// Prune deletes them later.
func (s *store) deleteBlobs(ctx context.Context, t *transaction) {
	keys := make([]string, len(t.blobs))
	for i, c := range t.blobs {
		keys[i] = blobKey(s.id, c.name)
	}
	s.b.s3.remove(ctx, keys...)
}
