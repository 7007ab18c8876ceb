package s3store

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"memento"
)

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
	Meta     int64  `json:"meta"` // bytes of the header; the contents follow it
	Size     int64  `json:"size"` // bytes of the object
}

// seq returns the Seq of the newest compacted version, 0 if there is none.
func (m *manifest) seq() int64 {
	for i := len(m.Segments) - 1; i >= 0; i-- {
		if m.Segments[i].LastSeq > 0 {
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
	if m.Format > recordFormat {
		return m, "", fmt.Errorf("%w: a newer memento has written a manifest", memento.ErrFormat)
	}
	return m, etag, nil
}

// A checkpoint is a store's memories, without contents, as of one record.
type checkpoint struct {
	Format   int                         `json:"format"`
	N        int64                       `json:"n"`
	Info     *infoForm                   `json:"info"`
	Usage    usageForm                   `json:"usage"`
	Seq      int64                       `json:"seq"`
	Latest   stamp                       `json:"latest"`
	Memories []memoryRecord              `json:"heads,omitempty"`
	SeqByID  map[memento.VersionID]int64 `json:"foreign,omitempty"`
}

type memoryRecord struct {
	ID      memento.MemoryID  `json:"m"`
	Path    memento.Path      `json:"p"`
	SHA256  string            `json:"h"`
	Digest  string            `json:"g,omitempty"`
	Size    int64             `json:"z"`
	Version memento.VersionID `json:"i"`
	Created stamp             `json:"c"`
	Updated stamp             `json:"t"`
	Ref     ref               `json:"r"`
}

func (h *indexEntry) record() memoryRecord {
	m := h.memory
	return memoryRecord{m.ID, m.Path, m.SHA256, m.Digest, m.Size, m.Version, stampOf(m.CreatedAt), stampOf(m.UpdatedAt), h.ref}
}

func (f *memoryRecord) entry() *indexEntry {
	return &indexEntry{memory: memento.Memory{
		ID: f.ID, Path: f.Path, SHA256: f.SHA256, Digest: f.Digest, Size: f.Size, Version: f.Version,
		CreatedAt: f.Created.time(), UpdatedAt: f.Updated.time(),
	}, ref: f.Ref}
}

// state returns the state that the checkpoint describes.
func (f *checkpoint) state() *state {
	s := newState()
	s.n, s.seq, s.latest = f.N, f.Seq, f.Latest.time()
	s.lastRemoval = f.N // or an earlier record
	s.info = f.Info.info()
	s.info.Usage = memento.Usage{Memories: f.Usage.Memories, Bytes: f.Usage.Bytes}
	if f.SeqByID != nil {
		s.seqByID = f.SeqByID
	}
	s.paths = make([]*indexEntry, 0, len(f.Memories))
	for i := range f.Memories { // in order of path
		h := f.Memories[i].entry()
		s.byID[h.memory.ID], s.byPath[h.memory.Path] = h, h
		s.paths = append(s.paths, h)
	}
	return s
}

// gzipWriters are reused, since each has tables of a megabyte.
var gzipWriters = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // fails only for other levels
	return w
}}

// pack returns v as JSON, compressed with gzip.
func pack(v any) ([]byte, error) {
	w := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(w)
	var out bytes.Buffer
	w.Reset(&out)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		return nil, err
	}
	err := w.Close()
	return out.Bytes(), err
}

func unpack(data []byte, v any) error {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		var plain []byte
		if plain, err = io.ReadAll(r); err == nil {
			err = json.Unmarshal(plain, v)
		}
	}
	if err != nil {
		return fmt.Errorf("%w: a part of a store is damaged", memento.ErrFormat)
	}
	return nil
}
