package s3store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"memento"
)

func someTable() *contentsTable {
	t := &contentsTable{}
	offset := int64(0)
	for n := range 50 {
		for i := range n % 4 {
			size := int64(n * i * 37)
			t.spans = append(t.spans, span{int64(1000 + n*n), i * 3, offset, size})
			offset += size
		}
	}
	return t
}

// end returns how many bytes of contents the table has.
func (t *contentsTable) end() int64 {
	if len(t.spans) == 0 {
		return 0
	}
	last := t.spans[len(t.spans)-1]
	return last.Offset + last.Size
}

func TestContentsTable(t *testing.T) {
	for _, want := range []*contentsTable{{}, someTable()} {
		data := want.encode()
		got, err := decodeTable(data, want.end())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want.spans, got.spans, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		for _, c := range want.spans {
			if found, ok := got.find(c.id()); !ok || found != c {
				t.Errorf("%v is at %v, %v", c, found, ok)
			}
		}
		if _, ok := got.find(contentID{1000, 7}); ok {
			t.Error("contents are found that are not there")
		}
		for i := range data {
			for bit := range 8 {
				flipped := slices.Clone(data)
				flipped[i] ^= 1 << bit
				if _, err := decodeTable(flipped, want.end()); !errors.Is(err, memento.ErrFormat) {
					t.Fatalf("bit %d of byte %d flipped: %v, want ErrFormat", bit, i, err)
				}
			}
			if _, err := decodeTable(data[:i], want.end()); !errors.Is(err, memento.ErrFormat) {
				t.Fatalf("cut off at %d: %v, want ErrFormat", i, err)
			}
		}
	}
	for _, numbers := range [][]uint64{{1 << 40}, {1, 1 << 63, 0, 1}, {1, 1, 1 << 40, 1}, {1, 1, 0, 1 << 40}, {2, 1, 0, 1, 0, 0, 1}, {1, 1, 0, 1, 5}} {
		var data []byte
		for _, n := range numbers {
			data = binary.AppendUvarint(data, n)
		}
		if got, err := decodeTable(sealBlock(data, 0), 100); !errors.Is(err, memento.ErrFormat) {
			t.Errorf("%d is the table %+v, %v, want ErrFormat", numbers, got, err)
		}
	}
}

// FuzzContentsTable reads arbitrary tables. What they name is in the segment.
func FuzzContentsTable(f *testing.F) {
	f.Add(binary.AppendUvarint(nil, 0), int64(0))
	data := someTable().encode()
	f.Add(data[:len(data)-4], someTable().end())
	f.Fuzz(func(t *testing.T, data []byte, size int64) {
		size = max(size, 0)
		table, err := decodeTable(sealBlock(data, 0), size)
		if err != nil {
			return
		}
		for i, c := range table.spans {
			if c.Offset < 0 || c.Size < 0 || c.Offset > size-c.Size || i > 0 && compareContentIDs(table.spans[i-1].id(), c.id()) >= 0 {
				t.Fatalf("%+v, of %d bytes", table.spans, size)
			}
		}
	})
}

// A store is loaded from a checkpoint and few records, however many memories a record writes:
// versions count as records do.
func TestCheckpointByVersions(t *testing.T) {
	b := patient(t, "checkpoints/"+random(), nil)
	b.compactEvery = 32
	info, err := b.CreateStore(t.Context(), "tests", memento.StoreSpec{Name: "test", Limits: memento.Limits{Memories: 10_000}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 32 {
		var changes []memento.Change
		for j := range 10 {
			changes = append(changes, memento.Put{Path: memento.Path(fmt.Sprintf("/%d/%d", i, j)), Content: "text"})
		}
		if _, err := b.Apply(t.Context(), info.ID, memento.Actor{}, changes); err != nil {
			t.Fatal(err)
		}
	}
	compactNow(t, b, info.ID)
	m, _, err := b.getManifest(t.Context(), info.ID)
	if err != nil || m.Checkpoint == nil {
		t.Fatalf("%+v has no checkpoint, %v", m, err)
	}
	n := m.Checkpoint.N
	for i := range 20 {
		write(t, b, info.ID, memento.Path(fmt.Sprint("/more", i)), "text")
	}
	compactNow(t, b, info.ID)
	if m, _, err = b.getManifest(t.Context(), info.ID); err != nil || m.Checkpoint == nil || m.Checkpoint.N != n {
		t.Errorf("after 20 more versions, the checkpoint is %+v, %v", m.Checkpoint, err)
	}
}

// Segments say which format they have. A later one is not read, nor kept in memory when it is
// to be forgotten.
func TestSegmentFormat(t *testing.T) {
	_, g, err := encodeSegment("key", 1, 1, 0, 0, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for format := range segmentFormat + 2 {
		b := &Backend{cache: newCache(1 << 20)}
		packed, err := pack(&segmentHeader{Format: format})
		if err != nil {
			t.Fatal(err)
		}
		table := (&contentsTable{}).encode()
		g.Table, g.Meta = int64(len(table)), int64(len(table)+len(packed))
		g.Size = g.Meta
		if _, err := b.decodeSegmentHeader(g, append(table, packed...)); errors.Is(err, memento.ErrFormat) != (format > segmentFormat) {
			t.Errorf("format %d: %v", format, err)
		}
		b.forgetSegment(g.Key)
		if _, known := b.cache.get(headerKey(g.Key)); known || b.knownTable(g) != nil {
			t.Error("a segment is forgotten, and parts of it are in memory")
		}
	}
	data, g, err := encodeSegment("key", 1, 1, 0, 0, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := (&Backend{cache: newCache(1 << 20)}).decodeSegmentHeader(g, data)
	if err != nil || d.Format != 2 {
		t.Errorf("%+v, %v", d, err)
	}
}
