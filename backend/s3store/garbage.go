package s3store

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// expireLog deletes the old checkpoint, and those compacted records of the log that are
// so old that no process looks for them any more.
func (f *compactor) expireLog(ctx context.Context) error {
	if f.oldCheckpoint != "" {
		if err := f.b.s3.remove(ctx, f.oldCheckpoint); err != nil {
			return err
		}
	}
	f.mu.RLock()
	now, known := f.b.transport.now()
	early := !known || now.Before(f.nextExpiry)
	f.mu.RUnlock()
	if early { // a long listing, of which nothing would be deleted
		return nil
	}
	log, err := f.b.s3.list(ctx, logDir(f.id), "", listPageSize, true) // the next compaction continues
	if err != nil {
		return err
	}
	var expired []string
	next := now.Add(f.b.keepLog) // when more records may expire
	for _, o := range log {
		if n, ok := parseLogKey(o.key); ok && n <= f.next.End && f.b.isOlder(o.modified, f.b.keepLog) {
			expired = append(expired, o.key)
		} else if at := o.modified.Add(f.b.keepLog); at.Before(next) {
			next = at
		}
	}
	if len(expired) == listPageSize {
		next = time.Time{}
	}
	if err := f.b.s3.remove(ctx, expired...); err != nil {
		return err
	}
	f.mu.Lock()
	f.nextExpiry = next
	f.mu.Unlock()
	return nil
}

// deleteUnreferenced deletes at once what was redacted and pruned, whichever process has
// compacted it: objects that the current manifest does not name, and records of the log.
func (f *compactor) deleteUnreferenced(ctx context.Context) error {
	// List before reading the manifest. Then an object that was made for an earlier
	// manifest, and that this manifest does not name, will never be named: its writer
	// fails to replace the manifest.
	var parts []listed
	for _, dir := range []string{checkpointDir(f.id), segmentDir(f.id)} {
		found, err := f.b.s3.list(ctx, dir, "", 0, true)
		if err != nil {
			return err
		}
		parts = append(parts, found...)
	}
	m, _, err := f.b.getManifest(ctx, f.id)
	if err != nil {
		return err
	}
	var unused []string
	for _, o := range parts {
		if !m.mayReference(o.key) {
			f.b.forgetSegment(o.key)
			unused = append(unused, o.key)
		}
	}
	blobs, err := f.b.s3.list(ctx, blobDir(f.id), "", 0, true)
	if err != nil {
		return err
	}
	for _, o := range blobs {
		name := o.key[len(blobDir(f.id)):]
		commit, _, _ := strings.Cut(name, "-")
		if f.commits[commit] && !f.liveBlobs[name] { // a blob of a write in progress has no commit yet
			f.b.cache.remove(cacheKey{dir: string(f.id), name: name})
			unused = append(unused, o.key)
		}
	}
	log, err := f.b.s3.list(ctx, logDir(f.id), "", 0, true)
	if err != nil {
		return err
	}
	var emptied []int64
	for _, o := range log {
		n, ok := parseLogKey(o.key)
		switch {
		case !ok || n > m.End:
		case f.b.isOlder(o.modified, f.b.keepLog):
			unused = append(unused, o.key)
		case f.dirtyRecords[n] || f.allRecords && o.size > int64(len(stub(n))):
			emptied = append(emptied, n)
		}
	}
	if err := f.b.s3.remove(ctx, unused...); err != nil {
		return err
	}
	err = parallel(ctx, len(emptied), func(ctx context.Context, i int) error {
		return f.b.s3.overwrite(ctx, logKey(f.id, emptied[i]), stub(emptied[i]))
	})
	if err != nil {
		return err
	}
	if err := f.b.indexes.purge(ctx, f.id, isIndexable(f.from.info.Usage)); err != nil {
		return err
	}
	done := recordRange{f.from.manifest.End, min(f.from.n, m.End)}
	if f.allRecords {
		done.after = 0
	}
	f.purged = f.purged.joined(done)
	return nil
}

// A recordRange is the records after one number, up to and including another.
type recordRange struct{ after, to int64 }

func (s recordRange) contains(n int64) bool { return s.after < n && n <= s.to }

// joined returns the union with another range, or only the other one if there is a gap
// between them.
func (s recordRange) joined(other recordRange) recordRange {
	if other.after > s.to || other.to < s.after {
		return other
	}
	return recordRange{min(s.after, other.after), max(s.to, other.to)}
}

// parseLogKey returns the number of the record with a key of the log.
func parseLogKey(key string) (n int64, ok bool) {
	if len(key) < 20 {
		return 0, false
	}
	_, err := fmt.Sscanf(key[len(key)-20:], "%d", &n)
	return n, err == nil
}
