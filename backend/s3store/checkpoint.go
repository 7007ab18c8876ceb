package s3store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"runtime"
	"slices"
	"sync"

	"memento"
)

// A checkpoint is a store's memories, without contents, as of one record: a header, which is
// JSON, and blocks of memories in order of path. Blocks have a checksum each, and depend on
// nothing but themselves, so that several processors read them. What is random in an entry
// (IDs, hashes) is most of it and does not get smaller by compression, so there is none. See
// docs/s3.md.

const (
	checkpointMagic  = "mchkpnt\n"
	checkpointFormat = 2 // format 1 is gzip of JSON, see oldcheckpoint.go

	checkpointBlock = 256 // entries in a block, at most
)

// A checkpointHeader is what a checkpoint has besides lists.
type checkpointHeader struct {
	Format   int       `json:"format"`
	N        int64     `json:"n"`
	Info     *infoForm `json:"info"`
	Usage    usageForm `json:"usage"`
	Seq      int64     `json:"seq"`
	Latest   stamp     `json:"latest"`
	Memories []int     `json:"memories,omitempty"` // bytes of each block of memories
	Imported []int     `json:"imported,omitempty"` // of each block of seqs by ID; these blocks follow
}

var errCheckpoint = fmt.Errorf("%w: a checkpoint is damaged", memento.ErrFormat)

// checkpoint returns the object of a checkpoint.
func (c *snapshot) checkpoint() ([]byte, error) {
	h := checkpointHeader{
		Format: checkpointFormat, N: c.n, Info: formOf(c.info), Usage: usageForm{c.info.Usage.Memories, c.info.Usage.Bytes},
		Seq: c.seq, Latest: stampOf(c.latest),
	}
	blocks := make([]byte, 0, 120*len(c.entries)+64*len(c.seqByID))
	for part := range slices.Chunk(c.entries, checkpointBlock) {
		from := len(blocks)
		blocks = sealBlock(appendEntries(blocks, part), from)
		h.Memories = append(h.Memories, len(blocks)-from)
	}
	for part := range slices.Chunk(slices.Sorted(maps.Keys(c.seqByID)), checkpointBlock) {
		from := len(blocks)
		for _, id := range part {
			blocks = binary.AppendUvarint(appendText(blocks, string(id)), uint64(c.seqByID[id]))
		}
		blocks = sealBlock(blocks, from)
		h.Imported = append(h.Imported, len(blocks)-from)
	}
	header, err := marshalChecked(&h)
	if err != nil {
		return nil, err
	}
	data := make([]byte, 0, len(checkpointMagic)+4+len(header)+len(blocks))
	data = binary.LittleEndian.AppendUint32(append(data, checkpointMagic...), uint32(len(header)))
	return append(append(data, header...), blocks...), nil
}

// decodeCheckpoint returns the state that a checkpoint describes. Errors: ErrFormat.
func decodeCheckpoint(data []byte) (*state, error) {
	rest, found := bytes.CutPrefix(data, []byte(checkpointMagic))
	if !found {
		return decodeOldCheckpoint(data)
	}
	if len(rest) < 4 {
		return nil, errCheckpoint
	}
	n := binary.LittleEndian.Uint32(rest)
	if rest = rest[4:]; uint64(n) > uint64(len(rest)) || !hasCheck(rest[:n]) {
		return nil, errCheckpoint
	}
	var h checkpointHeader
	if unmarshalChecked(rest[:n], &h) != nil {
		return nil, errCheckpoint
	}
	if h.Format != checkpointFormat {
		return nil, fmt.Errorf("%w: a newer memento has written to the store", memento.ErrFormat)
	}
	memories, rest, ok := cutBlocks(rest[n:], h.Memories)
	imported, rest, also := cutBlocks(rest, h.Imported)
	if !ok || !also || len(rest) > 0 || h.Info == nil {
		return nil, errCheckpoint
	}
	s := newState()
	s.n, s.seq, s.latest = h.N, h.Seq, h.Latest.time()
	s.lastRemoval = h.N // or an earlier record
	s.info = h.Info.info()
	s.info.Usage = memento.Usage{Memories: h.Usage.Memories, Bytes: h.Usage.Bytes}
	for _, block := range imported {
		if !s.decodeImported(block) {
			return nil, errCheckpoint
		}
	}
	if !s.decodeMemories(memories) {
		return nil, errCheckpoint
	}
	return s, nil
}

// cutBlocks cuts blocks of these sizes off data.
func cutBlocks(data []byte, sizes []int) (blocks [][]byte, rest []byte, ok bool) {
	if len(sizes) > len(data) {
		return nil, nil, false
	}
	blocks = make([][]byte, len(sizes))
	for i, size := range sizes {
		if size <= 4 || size > len(data) {
			return nil, nil, false
		}
		blocks[i], data = data[:size], data[size:]
	}
	return blocks, data, true
}

// sealBlock appends the checksum of a block, which begins at from.
func sealBlock(data []byte, from int) []byte {
	return binary.LittleEndian.AppendUint32(data, crc32.Checksum(data[from:], castagnoli))
}

// unsealBlock returns a block without its checksum.
func unsealBlock(block []byte) ([]byte, bool) {
	n := len(block) - 4
	return block[:n], crc32.Checksum(block[:n], castagnoli) == binary.LittleEndian.Uint32(block[n:])
}

func (s *state) decodeImported(block []byte) bool {
	data, ok := unsealBlock(block)
	r := entryReader{data: data}
	for ok && len(r.data) > 0 {
		id, seq := r.text(), r.number()
		if r.failed || seq > 1<<62 {
			return false
		}
		s.seqByID[memento.VersionID(id)] = int64(seq)
	}
	return ok
}

// decodeMemories reads the memories of a checkpoint. All processors share the work, except
// that one makes the map.
func (s *state) decodeMemories(blocks [][]byte) bool {
	parts := make([][]*indexEntry, len(blocks))
	workers := min(runtime.GOMAXPROCS(0), max(1, len(blocks)/8))
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(blocks); i += workers {
				if parts[i] = decodeEntries(blocks[i]); parts[i] == nil {
					return
				}
			}
		})
	}
	wg.Wait()
	n := 0
	for _, part := range parts {
		n += len(part)
	}
	s.paths = make([]*indexEntry, 0, n)
	s.byID = make(map[memento.MemoryID]*indexEntry, n)
	for _, part := range parts {
		if part == nil || len(s.paths) > 0 && s.paths[len(s.paths)-1].memory.Path >= part[0].memory.Path {
			return false
		}
		s.paths = append(s.paths, part...)
		for _, h := range part {
			s.byID[h.memory.ID] = h
		}
	}
	s.loaded = n
	return len(s.byID) == n // no ID is there twice
}
