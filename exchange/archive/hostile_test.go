package archive_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/exchange/archive"
)

// small returns the entries of an archive: a manifest, two memories, a history
// of three versions.
func small(t testing.TB) []entry {
	t.Helper()
	s := newStore(t)
	apply(t, s, memento.Put{Path: "/a.md", Content: "alpha"})
	apply(t, s, memento.Put{Path: "/a.md", Content: "beta"})
	apply(t, s, memento.Put{Path: "/b.md", Content: "gamma"})
	entries := unpack(t, export(t, s, nil))
	if len(entries) != 4 {
		t.Fatalf("the archive has %d entries; want 4", len(entries))
	}
	return entries
}

// edit replaces old by new, which must be there, in the named entry.
func edit(t testing.TB, entries []entry, name, old, new string) []entry {
	t.Helper()
	for i, e := range entries {
		if e.name == name {
			if !strings.Contains(e.data, old) {
				t.Fatalf("%s has no %q:\n%s", name, old, e.data)
			}
			entries[i].data = strings.Replace(e.data, old, new, 1)
			return entries
		}
	}
	t.Fatalf("there is no entry %s", name)
	return nil
}

// lastLine returns the last line of the history.
func lastLine(entries []entry) string {
	lines := strings.SplitAfter(strings.TrimSuffix(entries[3].data, "\n"), "\n")
	return lines[len(lines)-1]
}

func TestHostile(t *testing.T) {
	insert := func(at int, e entry) func(*testing.T, []entry) []byte {
		return func(t *testing.T, entries []entry) []byte {
			entries = append(entries[:at:at], append([]entry{e}, entries[at:]...)...)
			return pack(t, entries)
		}
	}
	change := func(name, old, new string) func(*testing.T, []entry) []byte {
		return func(t *testing.T, entries []entry) []byte { return pack(t, edit(t, entries, name, old, new)) }
	}
	file := func(name, data string) entry { return entry{name: name, data: data} }
	special := func(name string, kind byte, link string) entry {
		return entry{name: name, Header: tar.Header{Typeflag: kind, Linkname: link}}
	}
	for _, tc := range []struct {
		name string
		says string
		make func(t *testing.T, entries []entry) []byte
	}{
		{"nothing", "not a tar.gz", func(*testing.T, []entry) []byte { return nil }},
		{"noise", "not a tar.gz", func(*testing.T, []entry) []byte { return []byte("hello, this is no archive at all") }},
		{"zipped noise", "not a tar.gz file", func(t *testing.T, _ []entry) []byte { return zip(t, bytes.Repeat([]byte("noise"), 1000)) }},
		{"empty tar", "it is empty", func(t *testing.T, _ []entry) []byte { return pack(t, nil) }},
		{"bare tar", "not a tar.gz", func(t *testing.T, entries []entry) []byte { return packTar(t, entries) }},
		{"truncated", "it is truncated", func(t *testing.T, entries []entry) []byte { b := pack(t, entries); return b[:len(b)/2] }},
		{"checksum cut off", "it is truncated", func(t *testing.T, entries []entry) []byte { b := pack(t, entries); return b[:len(b)-4] }},
		{"checksum wrong", "checksum", func(t *testing.T, entries []entry) []byte { b := pack(t, entries); b[len(b)-6] ^= 1; return b }},
		{"flipped bit", "", func(t *testing.T, entries []entry) []byte { b := pack(t, entries); b[len(b)/2] ^= 0x10; return b }},
		{"tar without its end", "", func(t *testing.T, entries []entry) []byte { b := packTar(t, entries); return zip(t, b[:len(b)-2000]) }},

		{"another tar", "another kind of file", func(t *testing.T, _ []entry) []byte { return pack(t, []entry{file("README", "hi")}) }},
		{"manifest not first", "starts with memento.json", func(t *testing.T, e []entry) []byte { return pack(t, []entry{e[1], e[0], e[2], e[3]}) }},
		{"manifest twice", "it is not an entry of an archive", insert(1, file("memento.json", "{}"))},
		{"manifest no JSON", "not a JSON object", change("memento.json", "{", "")},
		{"manifest of another format", `its format is "zip"`, change("memento.json", "memento-archive", "zip")},
		{"newer version", "by a newer memento", change("memento.json", `"version":1`, `"version":3`)},
		{"version zero", "no format version 0", change("memento.json", `"version":1`, `"version":0`)},
		{"unknown field", "unknown field", change("memento.json", `"memories":2`, `"memories":2,"x":1`)},
		{"wrong type", "of the wrong type", change("memento.json", `"memories":2`, `"memories":"2"`)},
		{"bad store", "must have a name", change("memento.json", `"name":"source"`, `"name":""`)},
		{"bad limit", "must not be negative", change("memento.json", `"path_depth":`, `"path_depth":-`)},
		{"negative count", "counts are invalid", change("memento.json", `"memories":2`, `"memories":-2`)},
		{"more promised", "promises 3", change("memento.json", `"memories":2`, `"memories":3`)},
		{"fewer versions promised", "promises only 2", change("memento.json", `"versions":3`, `"versions":2`)},
		{"more versions promised", "promises 4", change("memento.json", `"versions":3`, `"versions":4`)},
		{"huge manifest", "the limit is 1048576", insert(0, file("memento.json", strings.Repeat(" ", 2<<20)))},

		{"traversal", "path is invalid", insert(2, file("memories/../../etc/passwd", "x"))},
		{"traversal within", "path is invalid", insert(2, file("memories/a/../b", "x"))},
		{"absolute", "it is not an entry of an archive", insert(2, file("/etc/passwd", "x"))},
		{"outside", "it is not an entry of an archive", insert(2, file("../x", "x"))},
		{"beside", "it is not an entry of an archive", insert(2, file("memoriesx/y", "x"))},
		{"unknown entry", "it is not an entry of an archive", insert(3, file("notes.txt", "x"))},
		{"dotted prefix", "it is not an entry of an archive", insert(2, file("./memories/aa", "x"))},
		{"empty name", "path is invalid", insert(2, file("memories//b", "x"))},
		{"control character", "path is invalid", insert(2, file("memories/a\x1b[31mb", "x"))},
		{"not NFC", "path is invalid", insert(2, file("memories/ae\u0301", "x"))},
		{"long path", "path is invalid", insert(2, file("memories/a"+strings.Repeat("b", 1024), "x"))},
		{"twice", "exists twice", insert(2, file("memories/a.md", "beta"))},
		{"out of order", "out of order", insert(3, file("memories/a", "x"))},
		{"file below file", "it does not end with", insert(2, file("memories/a.md/x", "x"))},
		{"not UTF-8", "not valid UTF-8", change("memories/a.md", "beta", "be\xff")},
		{"directory", "not a regular file", insert(1, special("memories/", tar.TypeDir, ""))},
		{"symbolic link", "not a regular file", insert(2, special("memories/aa", tar.TypeSymlink, "/etc/passwd"))},
		{"hard link", "not a regular file", insert(2, special("memories/aa", tar.TypeLink, "memories/a.md"))},
		{"pipe", "not a regular file", insert(2, special("memories/aa", tar.TypeFifo, ""))},
		{"device", "not a regular file", insert(2, special("memories/aa", tar.TypeChar, ""))},

		{"contents changed", "other contents of", change("memories/a.md", "beta", "bent")},
		{"memory added", "does not end with the memory", insert(2, file("memories/aa", "x"))},
		{"memory missing", "which is not in the archive", func(t *testing.T, e []entry) []byte {
			return pack(t, edit(t, []entry{e[0], e[2], e[3]}, "memento.json", `"memories":2`, `"memories":1`))
		}},
		{"no history", "has no history.jsonl", func(t *testing.T, e []entry) []byte { return pack(t, e[:3]) }},
		{"history not last", "is the last entry", insert(4, file("memories/c", "x"))},
		{"history twice", "is the last entry", insert(4, file("history.jsonl", ""))},
		{"history no JSON", "line 1: it is not valid JSON", change("history.jsonl", `{"id"`, `{id`)},
		{"history cut", "without a newline", func(t *testing.T, e []entry) []byte {
			e[3].data = strings.TrimSuffix(e[3].data, "\n")
			return pack(t, e)
		}},
		{"two values", "more than one value", change("history.jsonl", "}\n", "}{}\n")},
		{"unknown field in history", "unknown field", change("history.jsonl", `{"id"`, `{"x":1,"id"`)},
		{"version twice", "exists twice", func(t *testing.T, e []entry) []byte {
			e[3].data += lastLine(e) + "\n"
			return pack(t, edit(t, e, "memento.json", `"versions":3`, `"versions":4`))
		}},
		{"hash wrong", "do not match its hash", change("history.jsonl", `"content":"alpha"`, `"content":"alphb"`)},
		{"no contents", "has no contents", change("history.jsonl", `"content":"alpha"`, `"content":null`)},
		{"no path", "has no path", change("history.jsonl", `"path":"/a.md"`, `"path":null`)},
		{"bad path", "invalid path", change("history.jsonl", `"path":"/a.md"`, `"path":"/../a.md"`)},
		{"bad operation", "operation is unknown", change("history.jsonl", `"operation":"created"`, `"operation":"dropped"`)},
		{"bad version ID", "not that of a version", change("history.jsonl", `"id":"memver_`, `"id":"x`)},
		{"ID with a line", "not that of a version", change("history.jsonl", `"id":"memver_`, `"id":"memver_\n`)},
		{"bad memory ID", "not that of a memory", change("history.jsonl", `"memory_id":"mem_`, `"memory_id":"`)},
		{"the future", "not a time in the past", change("history.jsonl", `"created_at":"20`, `"created_at":"91`)},
		{"no time", "not a time in the past", change("history.jsonl", `"created_at":"20`, `"created_at":"00`)},
		{"redacted with contents", "but has a path", change("history.jsonl", `"redacted_at":null`, `"redacted_at":"2026-01-01T00:00:00Z"`)},
		{"deletion with contents", "but has contents", change("history.jsonl", `"operation":"created"`, `"operation":"deleted"`)},
		{"in each other's way", "cannot both exist", func(t *testing.T, e []entry) []byte {
			// A second memory comes to where the first is about to leave.
			e = edit(t, e, "history.jsonl", `"path":"/a.md"`, `"path":"/b.md"`)
			lines := strings.SplitAfter(e[3].data, "\n")
			e[3].data = lines[0] + lines[2] + lines[1]
			return pack(t, e)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			data := tc.make(t, small(t))
			for _, opts := range []archive.ReadOptions{{}, {ContentsOnly: true, Overwrite: true}} {
				if opts.ContentsOnly && (tc.name == "in each other's way" || tc.name == "the future") {
					continue // it is a fault of the history alone
				}
				s := newStore(t)
				_, err := archive.Read(t.Context(), bytes.NewReader(data), s, ana, &opts)
				if err == nil {
					t.Fatal("it was read")
				}
				if !errors.Is(err, memento.ErrInvalid) {
					t.Errorf("error %v; want ErrInvalid", err)
				}
				if !strings.Contains(err.Error(), tc.says) {
					t.Errorf("error %q; want it to say %q", err, tc.says)
				}
				if strings.ContainsAny(err.Error(), "\x1b\n") {
					t.Errorf("error %q has a control character", err)
				}
				if _, err := s.ID(t.Context()); !errors.Is(err, memento.ErrNoStore) {
					if st := stateOf(t, s); len(st.Memories)+len(st.Versions) > 0 {
						t.Errorf("it left %+v", st)
					}
				}
			}
		})
	}
}

// zeros is as many zero bytes as asked for.
type zeros int64

func (z *zeros) Read(p []byte) (int, error) {
	if *z <= 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), int64(*z)))
	clear(p[:n])
	*z -= zeros(n)
	return n, nil
}

// What is packed small must not become large in memory.
func TestBombs(t *testing.T) {
	const most = 2 << 20
	manifest := small(t)[0]
	bomb := func(size int64, header func(*tar.Header), really int64) []byte {
		var plain bytes.Buffer
		tw := tar.NewWriter(&plain)
		h := &tar.Header{Typeflag: tar.TypeReg, Name: manifest.name, Size: int64(len(manifest.data))}
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(tw, manifest.data); err != nil {
			t.Fatal(err)
		}
		h = &tar.Header{Typeflag: tar.TypeReg, Name: "memories/a", Size: size}
		if header != nil {
			header(h)
		}
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		z := zeros(really)
		if _, err := io.Copy(tw, &z); err != nil {
			t.Fatal(err)
		}
		tw.Flush()
		return zip(t, plain.Bytes())
	}
	trailing := func() []byte {
		data := packTar(t, small(t))
		return zip(t, append(data, make([]byte, 32<<20)...))
	}
	for name, tc := range map[string]struct {
		data []byte
		want error
	}{
		"many zeros":    {bomb(32<<20, nil, 32<<20), archive.ErrTooLarge},
		"empty promise": {bomb(1<<40, nil, 512), archive.ErrTooLarge},
		"small promise": {bomb(1<<20, nil, 512), memento.ErrInvalid},
		"long tail":     {trailing(), archive.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := archive.Load(t.Context(), bytes.NewReader(tc.data), &archive.ReadOptions{MaxBytes: most})
			runtime.ReadMemStats(&after)
			if !errors.Is(err, tc.want) {
				t.Errorf("error %v; want %v", err, tc.want)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 4*most {
				t.Errorf("allocated %d bytes for an archive that may have %d", used, most)
			}
		})
	}
}

// A faulty reader is not a faulty archive.
func TestReaderFails(t *testing.T) {
	broken := errors.New("the cable broke")
	data := pack(t, small(t))
	r := io.MultiReader(bytes.NewReader(data[:len(data)/2]), failing{broken})
	_, err := archive.Load(t.Context(), r, nil)
	if !errors.Is(err, broken) || errors.Is(err, memento.ErrInvalid) {
		t.Errorf("error %v; want the reader's", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// A clock that was ahead must not make a backup unreadable for good.
func TestFutureContents(t *testing.T) {
	data := pack(t, small(t))
	past := func() time.Time { return time.Now().Add(-72 * time.Hour) }
	if _, err := archive.Load(t.Context(), bytes.NewReader(data), &archive.ReadOptions{Now: past}); !errors.Is(err, memento.ErrInvalid) {
		t.Errorf("with history: %v; want ErrInvalid", err)
	}
	if _, err := archive.Load(t.Context(), bytes.NewReader(data), &archive.ReadOptions{Now: past, ContentsOnly: true}); err != nil {
		t.Errorf("contents only: %v", err)
	}
}

// FuzzRead reads tar files of any kind: each gives an error and changes nothing,
// or a store that comes back the same from an archive of its own.
func FuzzRead(f *testing.F) {
	f.Add(packTar(f, small(f)), false)
	f.Add(packTar(f, unpack(f, export(f, lived(f), nil))), false)
	f.Add(packTar(f, unpack(f, export(f, lived(f), &archive.WriteOptions{ContentsOnly: true}))), true)
	f.Add(packTar(f, nil), true)
	f.Fuzz(func(t *testing.T, plain []byte, contentsOnly bool) {
		s := newStore(t)
		opts := &archive.ReadOptions{MaxBytes: 1 << 20, ContentsOnly: contentsOnly}
		sum, err := archive.Read(t.Context(), bytes.NewReader(zip(t, plain)), s, ana, opts)
		st := stateOf(t, s)
		if err != nil {
			if len(st.Memories)+len(st.Versions) > 0 {
				t.Fatalf("error %v, and yet the store has %+v", err, st)
			}
			return
		}
		if len(st.Memories) != sum.Memories {
			t.Fatalf("%d memories; the summary says %d", len(st.Memories), sum.Memories)
		}
		if _, err := s.ID(t.Context()); errors.Is(err, memento.ErrNoStore) {
			return // nothing to write, so nothing was made
		}
		again := newStore(t)
		if _, err := archive.Read(t.Context(), bytes.NewReader(export(t, s, nil)), again, ana, nil); err != nil {
			t.Fatalf("an archive of what was read cannot be read: %v", err)
		}
		if got := stateOf(t, again); len(got.Versions) != len(st.Versions) || len(got.Memories) != len(st.Memories) {
			t.Fatalf("came back as %+v; want %+v", got, st)
		}
	})
}
