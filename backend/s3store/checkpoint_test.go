package s3store

import (
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"memento"
	"memento/internal/ids"
	"memento/test/cputime"
)

// someState returns a state with memories of all forms.
func someState(n int) *state {
	at := time.Date(2026, 3, 1, 12, 0, 0, 1000, time.UTC)
	s := newState()
	s.n, s.seq, s.latest = 77, int64(3*n), at.Add(time.Hour)
	s.info = memento.StoreInfo{ID: "memstore_x", Workspace: "tests", Name: "some", Metadata: map[string]string{"a": "b"}, CreatedAt: at, UpdatedAt: at}
	s.info.Usage = memento.Usage{Memories: int64(n), Bytes: 12345}
	random := rand.New(rand.NewPCG(uint64(n), 2))
	for i := range n {
		created := at.Add(time.Duration(random.IntN(1e6)) * time.Millisecond)
		h := &indexEntry{memory: memento.Memory{
			ID: memento.MemoryID(ids.Memory(created)), Path: memento.Path(fmt.Sprintf("/dir%04d/note%06d", i/100, i)), SHA256: memento.HashContent(fmt.Sprint(i)),
			Size: int64(random.IntN(1e5)), Version: memento.VersionID(ids.Version(created, int64(i+1))), CreatedAt: created, UpdatedAt: created,
		}, seq: int64(i + 1), ref: ref{N: int64(random.IntN(70)), I: random.IntN(200)}}
		switch i % 7 {
		case 1:
			h.memory.Digest = "a digest"
		case 2:
			h.ref = ref{N: 3, Blob: "aaaa-bbbb"}
		case 3:
			h.memory.Version, h.seq = memento.VersionID(fmt.Sprint("from elsewhere ", i)), int64(2*n+i)
			s.seqByID[h.memory.Version] = h.seq
		case 4:
			h.memory.ID, h.memory.SHA256 = memento.MemoryID(fmt.Sprint("Mem_", i)), strings.ToUpper(h.memory.SHA256)
		case 5:
			h.memory.UpdatedAt = created.Add(-time.Minute)
		case 6:
			h.memory.CreatedAt = time.Time{}
		}
		s.byID[h.memory.ID] = h
		s.paths = append(s.paths, h)
	}
	return s
}

// CheckpointText returns the entries of a checkpoint as text, for tests that look for words in
// every object of a bucket; "" for other objects.
func CheckpointText(data []byte) (text string, err error) {
	if !strings.HasPrefix(string(data), checkpointMagic) {
		return "", nil
	}
	s, err := decodeCheckpoint(data)
	if err != nil {
		return "", err
	}
	for _, h := range s.paths {
		text += fmt.Sprintf("%+v\n", *h)
	}
	return text + fmt.Sprintln(s.seqByID), nil
}

func (s *state) encoded(t testing.TB) []byte {
	data, err := (&snapshot{state: *s, entries: s.paths}).checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestCheckpoint(t *testing.T) {
	for _, n := range []int{0, 1, 255, 256, 257, 9000} {
		s := someState(n)
		got, err := decodeCheckpoint(s.encoded(t))
		if err != nil {
			t.Errorf("%d memories: %v", n, err)
			continue
		}
		want := *s
		want.lastRemoval, want.loaded = s.n, n
		if d := cmp.Diff(&want, got, cmp.AllowUnexported(state{}, indexEntry{}, ref{}, manifest{}), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%d memories (-want +got):\n%.2000s", n, d)
		}
	}
}

// With any bit of a checkpoint flipped, or a part of it missing, reading it is an error.
func TestCheckpointDamaged(t *testing.T) {
	data := someState(600).encoded(t)
	check := func(what string, data []byte) {
		if _, err := decodeCheckpoint(data); !errors.Is(err, memento.ErrFormat) {
			t.Errorf("%s: %v, want ErrFormat", what, err)
		}
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		flipped := slices.Clone(data)
		i, bit := random.IntN(len(data)), random.IntN(8)
		flipped[i] ^= 1 << bit
		check(fmt.Sprintf("bit %d of byte %d flipped", bit, i), flipped)
	}
	for i := 0; i < len(data); i += 1 + random.IntN(200) {
		check(fmt.Sprintf("cut off at %d", i), data[:i])
	}
	check("longer", append(slices.Clone(data), 0))
	for name, damage := range map[string]func(paths []*indexEntry){
		"two of one path":      func(paths []*indexEntry) { paths[256].memory.Path = paths[255].memory.Path },
		"two of one ID":        func(paths []*indexEntry) { paths[500].memory.ID = paths[0].memory.ID },
		"paths not in order":   func(paths []*indexEntry) { paths[255], paths[256] = paths[256], paths[255] },
		"paths far from order": func(paths []*indexEntry) { paths[3], paths[500] = paths[500], paths[3] },
	} {
		s := someState(600)
		damage(s.paths)
		check(name, s.encoded(t))
		check(name+", format 1", s.old(t))
	}
	check("a later format", func() []byte {
		header, err := marshalChecked(&checkpointHeader{Format: checkpointFormat + 1, Info: &infoForm{}})
		if err != nil {
			t.Fatal(err)
		}
		return append(append([]byte(checkpointMagic), byte(len(header)), byte(len(header)>>8), 0, 0), header...)
	}())
}

// What a checkpoint says of itself is compared with its size before anything is allocated.
func TestCheckpointBounds(t *testing.T) {
	for _, n := range []uint64{0, checkpointBlock + 1, 1 << 20, 1 << 40, 1<<64 - 1} {
		block := binary.AppendUvarint(nil, n)
		if entries := decodeEntries(sealBlock(append(block, make([]byte, 100)...), 0)); entries != nil {
			t.Errorf("a block of 100 bytes has %d memories, as it says: %d", len(entries), n)
		}
	}
	whole := someState(600).encoded(t)
	size := binary.LittleEndian.Uint32(whole[len(checkpointMagic):])
	var h checkpointHeader
	if err := unmarshalChecked(whole[len(checkpointMagic)+4:][:size], &h); err != nil {
		t.Fatal(err)
	}
	rest := whole[len(checkpointMagic)+4+int(size):]
	for _, sizes := range [][]int{{-1}, {0}, {4}, {1 << 60}, append([]int{1 << 62, 1 << 62, 1 << 62, 1 << 62}, h.Memories...), append(slices.Clone(h.Memories), -8), nil} {
		h := h
		h.Memories = sizes
		header, err := marshalChecked(&h)
		if err != nil {
			t.Fatal(err)
		}
		data := binary.LittleEndian.AppendUint32([]byte(checkpointMagic), uint32(len(header)))
		if _, err := decodeCheckpoint(slices.Concat(data, header, rest)); !errors.Is(err, memento.ErrFormat) {
			t.Errorf("blocks of %v bytes: %v, want ErrFormat", sizes, err)
		}
	}
}

// FuzzCheckpoint reads arbitrary blocks of memories, and those again that were accepted.
func FuzzCheckpoint(f *testing.F) {
	for _, n := range []int{1, 7, 256} {
		f.Add(appendEntries(nil, someState(n).paths))
	}
	f.Fuzz(func(t *testing.T, block []byte) {
		entries := decodeEntries(sealBlock(block, 0))
		if entries == nil {
			return
		}
		again := decodeEntries(sealBlock(appendEntries(nil, entries), 0))
		if d := cmp.Diff(entries, again, cmp.AllowUnexported(indexEntry{}, ref{})); d != "" {
			t.Errorf("an accepted block is read back as another (-was +is):\n%s", d)
		}
	})
}

//go:embed testdata/format1.json
var format1 []byte

// A store that an earlier version has written, with a checkpoint of format 1, opens, and all
// that it has is there. What is written next is of the present format.
func TestFormat1(t *testing.T) {
	var old struct {
		Store   memento.StoreID
		Objects map[string][]byte
	}
	if err := json.Unmarshal(format1, &old); err != nil {
		t.Fatal(err)
	}
	prefix := "format1/" + random()
	b := openHasty(t, prefix, nil, time.Hour)
	b.keepLog, b.inline = 1000*time.Hour, 50
	for key, data := range old.Objects {
		if err := b.s3.write(t.Context(), key, data); err != nil {
			t.Fatal(err)
		}
	}
	want := map[memento.Path]string{"/a": "third", "/imported": "from elsewhere", "/notes/large": strings.Repeat("large ", 20)}
	for i := range 20 {
		want[memento.Path(fmt.Sprintf("/notes/%d", i))] = fmt.Sprintf("note %d", i)
	}
	for i := range 12 {
		want[memento.Path(fmt.Sprintf("/later/%d", i))] = fmt.Sprintf("later %d", i)
	}
	want["/notes/3"] = "changed"
	check := func(b *Backend, versions int) {
		t.Helper()
		got := map[memento.Path]string{}
		for e, err := range b.List(t.Context(), old.Store, memento.ListOptions{Contents: true}) {
			if err != nil {
				t.Fatal(err)
			}
			got[e.Path] = e.Memory.Content
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		n := 0
		for _, err := range b.ListVersions(t.Context(), old.Store, memento.VersionListOptions{Contents: true}) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != versions {
			t.Errorf("there are %d versions", n)
		}
		if v, err := b.GetVersion(t.Context(), old.Store, "memver_elsewhere"); err != nil || v.Content != "from elsewhere" {
			t.Errorf("%+v, %v", v, err)
		}
		if found, err := b.Search(t.Context(), old.Store, memento.SearchOptions{Query: "changed"}); err != nil || len(found) != 1 {
			t.Errorf("%+v, %v", found, err)
		}
	}
	check(b, 38)
	v, err := b.Get(t.Context(), old.Store, memento.ByPath("/notes/5"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, b, old.Store, "/notes/5", "not secret")
	if _, err := b.Redact(t.Context(), old.Store, v.Version, memento.Actor{}); err != nil { // which writes a checkpoint
		t.Fatal(err)
	}
	want["/notes/5"] = "not secret"
	m, _, err := b.getManifest(t.Context(), old.Store)
	if err != nil {
		t.Fatal(err)
	}
	data, _, err := b.s3.get(t.Context(), m.Checkpoint.Key)
	if err != nil || m.Format != manifestFormat || !strings.HasPrefix(string(data), checkpointMagic) {
		t.Errorf("format %d, %.10q, %v", m.Format, data, err)
	}
	write(t, b, old.Store, "/one", "more")
	want["/one"] = "more"
	fresh := openHasty(t, prefix, nil, time.Hour)
	fresh.keepLog = 1000 * time.Hour
	check(fresh, 40)
}

// old returns the object of a checkpoint of format 1.
func (s *state) old(t testing.TB) []byte {
	f := oldCheckpoint{
		Format: 1, N: s.n, Info: formOf(s.info), Usage: usageForm{s.info.Usage.Memories, s.info.Usage.Bytes}, Seq: s.seq, Latest: stampOf(s.latest), SeqByID: s.seqByID,
	}
	for _, h := range s.paths {
		m := h.memory
		f.Memories = append(f.Memories, oldMemory{m.ID, m.Path, m.SHA256, m.Digest, m.Size, m.Version, stampOf(m.CreatedAt), stampOf(m.UpdatedAt), h.ref})
	}
	data, err := pack(&f)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Both formats say the same.
func TestOldCheckpoint(t *testing.T) {
	s := someState(1000)
	was, err := decodeCheckpoint(s.old(t))
	if err != nil {
		t.Fatal(err)
	}
	is, err := decodeCheckpoint(s.encoded(t))
	if err != nil {
		t.Fatal(err)
	}
	was.loaded = is.loaded // its entries share no memory
	if d := cmp.Diff(was, is, cmp.AllowUnexported(state{}, indexEntry{}, ref{}, manifest{}), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("(-format 1 +format 2):\n%.2000s", d)
	}
}

// What a state takes in memory is what it says, also if most of the memories that it was loaded
// with are gone, and the others are in all blocks of the checkpoint.
func TestCheckpointMemory(t *testing.T) {
	const n = 50_000
	data := someState(n).encoded(t)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	s, err := decodeCheckpoint(data)
	if err != nil {
		t.Fatal(err)
	}
	clear(s.seqByID)
	check := func(what string) {
		t.Helper()
		if used, says := heap()-before, s.size(); used > 2*says+1<<20 {
			t.Errorf("%s: %d memories take %d bytes, and the state says %d", what, len(s.byID), used, says)
		}
	}
	remove := func(some func(i int) bool) {
		var versions []*version
		for i, h := range slices.Clone(s.paths) {
			if some(i) {
				s.seq++
				versions = append(versions, &version{ID: memento.VersionID(ids.Version(s.latest, s.seq)), Memory: h.memory.ID, Seq: s.seq, Operation: memento.Deleted})
			}
		}
		s.apply(&record{N: s.n + 1, Versions: versions}, true)
		s.manifest.Segments, s.manifest.End = []segment{{LastSeq: s.seq, To: s.n}}, s.n // it is compacted
	}
	check("loaded")
	remove(func(i int) bool { return i%5 < 2 })
	check("two in five removed")
	remove(func(i int) bool { return i%150 > 0 })
	check("nearly all removed")
	if says := s.size(); says > 2<<20 {
		t.Errorf("%d memories take %d bytes, the state says", len(s.byID), says)
	}
	if len(s.paths) != n*3/5/150 || len(s.byID) != len(s.paths) || !slices.IsSortedFunc(s.paths, func(a, b *indexEntry) int { return strings.Compare(string(a.memory.Path), string(b.memory.Path)) }) {
		t.Errorf("there are %d memories, %d paths", len(s.byID), len(s.paths))
	}
	for _, h := range s.paths {
		if s.byID[h.memory.ID] != h {
			t.Fatalf("%s has two entries", h.memory.Path)
		}
	}
	runtime.KeepAlive(data)
}

// BenchmarkCheckpoint reads and writes the list of 100,000 memories, in the old format and in
// the present one.
func BenchmarkCheckpoint(b *testing.B) {
	s := someState(100_000)
	s.seqByID = map[memento.VersionID]int64{}
	for _, h := range s.paths {
		h.memory.Version = memento.VersionID(ids.Version(s.latest, h.seq))
	}
	for _, format := range []struct {
		name  string
		write func(testing.TB) []byte
	}{{"old", s.old}, {"new", s.encoded}} {
		data := format.write(b)
		b.Run(format.name+"/read", func(b *testing.B) {
			before := cputime.Used()
			for b.Loop() {
				if _, err := decodeCheckpoint(data); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cputime.Used()-before).Milliseconds())/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(len(data)), "bytes")
		})
		b.Run(format.name+"/write", func(b *testing.B) {
			before := cputime.Used()
			for b.Loop() {
				format.write(b)
			}
			b.ReportMetric(float64((cputime.Used()-before).Milliseconds())/float64(b.N), "cpu-ms/op")
		})
	}
}
