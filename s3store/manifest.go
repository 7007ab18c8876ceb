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

// A manifest says where a store is kept besides the rest of its log. It is the only
// object of a store that changes: whoever folds replaces it, on condition that it is
// the one that was read.
type manifest struct {
	Format     int            `json:"format"`
	Rev        string         `json:"rev"` // random, so that no two manifests are the same bytes
	End        int64          `json:"end"` // records up to this one are folded
	Checkpoint *checkpointRef `json:"base,omitempty"`
	Segments   []segment      `json:"segments,omitempty"` // of the records up to End, in order
	Deleted    bool           `json:"deleted,omitempty"`  // the record End deleted the store
	Purged     bool           `json:"buried,omitempty"`   // and nothing of it is left
}

// A baseRef names a base: the store's memories as of one record.
type checkpointRef struct {
	Key string `json:"key"`
	N   int64  `json:"n"`
}

// A segment names an object that holds the records of a part of the log, without
// what was redacted and pruned.
type segment struct {
	Key      string `json:"key"`
	From     int64  `json:"from"` // records
	To       int64  `json:"to"`
	FirstSeq int64  `json:"first"` // of the versions that there have been; 0 if none
	LastSeq  int64  `json:"last"`
	Meta     int64  `json:"meta"` // bytes of the description, behind which the contents are
	Size     int64  `json:"size"` // bytes of the object
}

// seq returns the newest that is folded.
func (m *manifest) seq() int64 {
	for i := len(m.Segments) - 1; i >= 0; i-- {
		if m.Segments[i].LastSeq > 0 {
			return m.Segments[i].LastSeq
		}
	}
	return 0
}

// holding returns the segment of a record.
func (m *manifest) segmentOf(n int64) (segment, bool) {
	for i := len(m.Segments) - 1; i >= 0; i-- {
		if g := m.Segments[i]; g.From <= n && n <= g.To {
			return g, true
		}
	}
	return segment{}, false
}

// tag marks the keys of what is made to be named by the manifest after this one.
func (m *manifest) tag() string { return "-" + hashed(m.Rev)[:16] }

// awaits reports whether an object with this key is named, or may be by the next
// manifest.
func (m *manifest) mayReference(key string) bool {
	return m.Checkpoint != nil && m.Checkpoint.Key == key || strings.Contains(key, m.tag()) ||
		slices.ContainsFunc(m.Segments, func(g segment) bool { return g.Key == key })
}

// getManifest reads a store's manifest, which is zero if there is none yet.
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
		return m, "", fmt.Errorf("%w: a manifest was written by a newer memento", memento.ErrFormat)
	}
	return m, etag, nil
}

// A base is a store's memories, without contents, as of one record.
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

// state returns the state that the base describes.
func (f *checkpoint) state() *state {
	s := newState()
	s.n, s.seq, s.latest = f.N, f.Seq, f.Latest.time()
	s.lastRemoval = f.N // at the latest
	s.info = f.Info.info()
	s.info.Usage = memento.Usage{Memories: f.Usage.Memories, Bytes: f.Usage.Bytes}
	if f.SeqByID != nil {
		s.seqByID = f.SeqByID
	}
	s.paths = make([]*indexEntry, 0, len(f.Memories))
	for i := range f.Memories { // which are in order of path
		h := f.Memories[i].entry()
		s.byID[h.memory.ID], s.byPath[h.memory.Path] = h, h
		s.paths = append(s.paths, h)
	}
	return s
}

// packers are writers for pack: each has tables of a megabyte.
var gzipWriters = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // fails for other levels only
	return w
}}

// pack returns v as compressed JSON.
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
