package s3store

import (
	"cmp"
	"fmt"
	"slices"

	"memento"
)

// An oldCheckpoint is a checkpoint of format 1, which earlier versions have written: gzip of
// JSON.
type oldCheckpoint struct {
	Format   int                         `json:"format"`
	N        int64                       `json:"n"`
	Info     *infoForm                   `json:"info"`
	Usage    usageForm                   `json:"usage"`
	Seq      int64                       `json:"seq"`
	Latest   stamp                       `json:"latest"`
	Memories []oldMemory                 `json:"heads,omitempty"` // in order of path
	SeqByID  map[memento.VersionID]int64 `json:"foreign,omitempty"`
}

type oldMemory struct {
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

func (f *oldMemory) entry(seqs map[memento.VersionID]int64) *indexEntry {
	return &indexEntry{memory: memento.Memory{
		ID: f.ID, Path: f.Path, SHA256: f.SHA256, Digest: f.Digest, Size: f.Size, Version: f.Version,
		CreatedAt: f.Created.time(), UpdatedAt: f.Updated.time(),
	}, seq: cmp.Or(seqs[f.Version], f.Version.SeqHint()), ref: f.Ref}
}

// decodeOldCheckpoint returns the state that a checkpoint of format 1 describes.
func decodeOldCheckpoint(data []byte) (*state, error) {
	var f oldCheckpoint
	if err := unpack(data, &f); err != nil {
		return nil, err
	}
	if f.Format > 1 || f.Info == nil {
		return nil, fmt.Errorf("%w: a newer memento has written to the store", memento.ErrFormat)
	}
	s := newState()
	s.n, s.seq, s.latest = f.N, f.Seq, f.Latest.time()
	s.lastRemoval = f.N // or an earlier record
	s.info = f.Info.info()
	s.info.Usage = memento.Usage{Memories: f.Usage.Memories, Bytes: f.Usage.Bytes}
	if f.SeqByID != nil {
		s.seqByID = f.SeqByID
	}
	s.paths = make([]*indexEntry, 0, len(f.Memories))
	for i := range f.Memories {
		h := f.Memories[i].entry(s.seqByID)
		s.byID[h.memory.ID] = h
		s.paths = append(s.paths, h)
	}
	sorted := slices.IsSortedFunc(s.paths, func(a, b *indexEntry) int { return cmp.Or(cmp.Compare(a.memory.Path, b.memory.Path), -1) })
	if !sorted || len(s.byID) != len(s.paths) {
		return nil, errCheckpoint
	}
	return s, nil
}
