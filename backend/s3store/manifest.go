package s3store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"memento"
)

// manifestFormat is the format of manifests that this package writes, and the newest that it
// reads. In format 1, checkpoints are of format 1, and segments have no table of contents.
const manifestFormat = 2

// A manifest names the objects that hold the compacted part of a store. Apart from the
// read times it is the only object of a store that changes: a compaction replaces it, on
// condition that it is still the one that was read.
type manifest struct {
	Format     int            `json:"format"`
	Rev        string         `json:"rev"` // random, so that no two manifests have the same bytes
	End        int64          `json:"end"` // records up to this one are compacted
	Checkpoint *checkpointRef `json:"base,omitempty"`
	Segments   []segment      `json:"segments,omitempty"` // of the records up to End, in order
	Deleted    bool           `json:"deleted,omitempty"`  // the record End deleted the store
	Purged     bool           `json:"buried,omitempty"`   // and its other objects were deleted
}

// A checkpointRef names a checkpoint: the store's memories as of one record.
type checkpointRef struct {
	Key string `json:"key"`
	N   int64  `json:"n"`
}

// A segment names an object that holds the records of one part of the log, without
// what was redacted and pruned.
type segment struct {
	Key      string `json:"key"`
	From     int64  `json:"from"`  // number of the first record
	To       int64  `json:"to"`    // and of the last
	FirstSeq int64  `json:"first"` // of the versions, including removed ones; 0 if there were none
	LastSeq  int64  `json:"last"`
	Meta     int64  `json:"meta"`            // bytes of the header; the contents follow it
	Table    int64  `json:"table,omitempty"` // bytes of the header that are the table of contents; 0 in format 1
	Size     int64  `json:"size"`            // bytes of the object
}

// seq returns the Seq of the newest compacted version, 0 if there is none.
func (m *manifest) seq() int64 { return m.seqAt(m.End) }

// seqAt is seq for the segments of the records up to n.
func (m *manifest) seqAt(n int64) int64 {
	for i := len(m.Segments) - 1; i >= 0; i-- {
		if m.Segments[i].LastSeq > 0 && m.Segments[i].To <= n {
			return m.Segments[i].LastSeq
		}
	}
	return 0
}

// segmentOf returns the segment that holds record n.
func (m *manifest) segmentOf(n int64) (segment, bool) {
	for i := len(m.Segments) - 1; i >= 0; i-- {
		if g := m.Segments[i]; g.From <= n && n <= g.To {
			return g, true
		}
	}
	return segment{}, false
}

// tag is part of the keys of the objects that the next manifest, after this one, is to
// name.
func (m *manifest) tag() string { return "-" + hashed(m.Rev)[:16] }

// mayReference reports whether this manifest names the object with this key, or the next
// one may.
func (m *manifest) mayReference(key string) bool {
	return m.Checkpoint != nil && m.Checkpoint.Key == key || strings.Contains(key, m.tag()) ||
		slices.ContainsFunc(m.Segments, func(g segment) bool { return g.Key == key })
}

// getManifest reads a store's manifest and its ETag; both are zero if there is none yet.
func (b *Backend) getManifest(ctx context.Context, id memento.StoreID) (m manifest, etag string, err error) {
	data, etag, err := b.s3.get(ctx, manifestKey(id))
	if errors.Is(err, errNotFound) {
		return m, "", nil
	}
	if err != nil {
		return m, "", err
	}
	if err := unmarshalChecked(data, &m); err != nil || m.Format == 0 {
		return m, "", fmt.Errorf("%w: a manifest is damaged", memento.ErrFormat)
	}
	if m.Format > manifestFormat {
		return m, "", fmt.Errorf("%w: a newer memento has written a manifest", memento.ErrFormat)
	}
	return m, etag, nil
}
