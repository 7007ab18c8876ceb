//go:build linux

package powercut

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A mounted is a mounted volume with helpers for tests.
type mounted struct {
	*testing.T
	*volumeDisk
}

func newMounted(t *testing.T) mounted {
	t.Helper()
	d, err := newVolumeDisk(t, Strict)
	if err != nil {
		t.Fatal(err)
	}
	return mounted{t, d}
}

func (b mounted) at(name string) string { return filepath.Join(b.dir, name) }

func (b mounted) do(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// write writes a file, and flushes it if asked to.
func (b mounted) write(name, text string, flush bool) {
	b.Helper()
	f, err := os.OpenFile(b.at(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o640)
	b.do(err)
	_, err = f.WriteString(text)
	b.do(err)
	if flush {
		b.do(f.Sync())
	}
	b.do(f.Close())
}

func (b mounted) sync(name string) error {
	b.Helper()
	f, err := os.Open(b.at(name))
	b.do(err)
	defer f.Close()
	return f.Sync()
}

// cut cuts the power, and returns the contents after it: by path, folders with a slash at
// the end.
func (b mounted) cut(mode Mode, seed uint64) map[string]string {
	b.Helper()
	b.Cut()
	if err := os.Mkdir(b.at("after"), 0o700); !errors.Is(err, syscall.EIO) {
		b.Errorf("after the cut: %v", err)
	}
	b.mode = mode
	b.do(b.volumeDisk.Restart(rand.New(rand.NewPCG(seed, 0))))
	there := map[string]string{}
	b.do(filepath.WalkDir(b.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || path == b.dir {
			return err
		}
		name := strings.TrimPrefix(path, b.dir+"/")
		if e.IsDir() {
			there[name+"/"] = ""
			return nil
		}
		text, err := os.ReadFile(path)
		there[name] = string(text)
		return err
	}))
	return there
}

func (b mounted) want(got, want map[string]string) {
	b.Helper()
	if !maps.Equal(got, want) {
		b.Errorf("contents after the cut: %v, want %v", got, want)
	}
}

// After a cut, flushed data is there, and nothing else.
func TestVolumeKeepsWhatWasFlushed(t *testing.T) {
	b := newMounted(t)
	b.write("both", "text", true)
	b.do(b.sync("."))
	b.write("contents only", "text", true) // without its name
	b.want(b.cut(Strict, 0), map[string]string{"both": "text"})

	b.write("both", "other", false)
	b.write("name only", "text", false)
	b.do(b.sync("."))
	b.want(b.cut(Strict, 0), map[string]string{"both": "text", "name only": ""})

	b.do(os.Mkdir(b.at("dir"), 0o700))
	b.write("dir/inner", "text", true)
	b.do(b.sync("."))
	b.want(b.cut(Strict, 0), map[string]string{"both": "text", "name only": "", "dir/": ""})

	b.do(os.Remove(b.at("name only")))
	b.write("dir/inner", "text", true)
	b.do(b.sync("dir"))
	b.want(b.cut(Strict, 0), map[string]string{"both": "text", "name only": "", "dir/": "", "dir/inner": "text"})
}

// A rename within a folder becomes durable as one, a rename between folders in two halves.
func TestVolumeRenames(t *testing.T) {
	b := newMounted(t)
	b.do(os.Mkdir(b.at("dir"), 0o700))
	b.write("a", "a", true)
	b.write("b", "b", true)
	b.do(b.sync("."))
	b.do(unix.Renameat2(unix.AT_FDCWD, b.at("a"), unix.AT_FDCWD, b.at("b"), unix.RENAME_EXCHANGE))
	if err := unix.Renameat2(unix.AT_FDCWD, b.at("a"), unix.AT_FDCWD, b.at("b"), unix.RENAME_NOREPLACE); err != unix.EEXIST {
		t.Errorf("a rename that must not replace: %v", err)
	}
	b.want(b.cut(Strict, 0), map[string]string{"dir/": "", "a": "a", "b": "b"})
	b.do(unix.Renameat2(unix.AT_FDCWD, b.at("a"), unix.AT_FDCWD, b.at("b"), unix.RENAME_EXCHANGE))
	b.do(b.sync("."))
	b.want(b.cut(Strict, 0), map[string]string{"dir/": "", "a": "b", "b": "a"})

	b.do(os.Rename(b.at("a"), b.at("dir/a")))
	b.do(b.sync("dir"))
	b.want(b.cut(Strict, 0), map[string]string{"dir/": "", "dir/a": "b", "a": "b", "b": "a"})
	b.do(os.Rename(b.at("b"), b.at("dir/b")))
	b.do(b.sync("."))
	b.want(b.cut(Strict, 0), map[string]string{"dir/": "", "dir/a": "b", "a": "b"})
}

// A partial cut leaves some unflushed writes, and nothing else.
func TestVolumeKeepsSome(t *testing.T) {
	var seen []string
	for seed := range uint64(40) {
		b := newMounted(t)
		b.write("a", strings.Repeat("1", 2000), true)
		b.do(b.sync("."))
		f, err := os.OpenFile(b.at("a"), os.O_WRONLY, 0)
		b.do(err)
		for _, digit := range "23" {
			_, err = f.WriteAt([]byte(strings.Repeat(string(digit), 1024)), 0)
			b.do(err)
		}
		b.do(f.Close())
		b.do(os.Rename(b.at("a"), b.at("b")))
		for name, text := range b.cut(Partial, seed) {
			digits := strings.Split(text, "")
			slices.Sort(digits)
			state := name + strings.Join(slices.Compact(digits), "")
			if len(text) != 2000 {
				t.Errorf("a length that the file never had: %s, %d bytes", name, len(text))
			}
			if !slices.Contains(seen, state) {
				seen = append(seen, state)
			}
		}
	}
	for _, state := range []string{"a1", "b1", "a12", "b12", "a13", "b13"} { // 123: a sector of the second write
		if !slices.Contains(seen, state) {
			t.Errorf("no cut led to %s: %q", state, seen)
		}
	}
}

// An injected fault occurs as often as requested, and the next flush does not repair a
// failed one.
func TestVolumeFaults(t *testing.T) {
	b := newMounted(t)
	b.write("a", "old", true)
	b.do(b.sync("."))
	fault := &Fault{Kind: Sync, Below: "/a", Skip: 1, Times: 1, Errno: syscall.EIO}
	b.Inject(fault)
	b.do(b.sync("a"))
	b.write("b", "text", true)
	f, err := os.OpenFile(b.at("a"), os.O_WRONLY, 0)
	b.do(err)
	_, err = f.WriteString("new")
	b.do(err)
	if err := f.Sync(); !errors.Is(err, syscall.EIO) {
		t.Errorf("the flush with the fault: %v", err)
	}
	b.do(f.Sync())
	b.do(f.Close())
	if n := b.Hits(fault); n != 1 {
		t.Errorf("%d failures", n)
	}
	b.want(b.cut(Strict, 0), map[string]string{"a": "old"})
}

// The number of a file that is gone, also from the durable state, is reused.
func TestVolumeInodes(t *testing.T) {
	b := newMounted(t)
	inode := func(name string) uint64 {
		info, err := os.Stat(b.at(name))
		b.do(err)
		return info.Sys().(*syscall.Stat_t).Ino
	}
	b.write("a", "text", true)
	b.do(b.sync("."))
	was := inode("a")
	b.do(os.Remove(b.at("a")))
	b.write("b", "text", true)
	if inode("b") == was {
		t.Error("the number of a file that a cut restores was reused")
	}
	b.do(b.sync("."))
	b.write("c", "text", true)
	if inode("c") != was {
		t.Errorf("inode %d, free was %d", inode("c"), was)
	}
	b.do(b.sync("."))
	kept := inode("b")
	b.cut(Strict, 0)
	if inode("b") != kept || inode("c") != was {
		t.Error("a cut changes the numbers of files")
	}
}

// CutAfter cuts after the given number of changes.
func TestVolumeCutAfter(t *testing.T) {
	b := newMounted(t)
	cut := b.CutAfter(3)
	b.do(os.Mkdir(b.at("1"), 0o700))
	b.do(os.Mkdir(b.at("2"), 0o700))
	if isClosed(cut) {
		t.Error("cut too early")
	}
	b.do(b.sync("."))
	if err := os.Mkdir(b.at("3"), 0o700); !errors.Is(err, syscall.EIO) || !isClosed(cut) {
		t.Errorf("no cut: %v", err)
	}
	b.want(b.cut(Strict, 0), map[string]string{"1/": "", "2/": ""})
}

// Ext4 loses what was not flushed, too.
func TestExt4Cut(t *testing.T) {
	d, err := newExt4Disk(t)
	if err != nil {
		t.Logf("ext4 is not available: %v", err)
		volume(Strict)(t)
		return
	}
	do := mounted{T: t}.do
	flushed, not := filepath.Join(d.dir, "flushed"), filepath.Join(d.dir, "not")
	f, err := os.Create(flushed)
	do(err)
	_, err = f.WriteString("text")
	do(err)
	do(f.Sync())
	do(f.Close())
	do(os.WriteFile(not, []byte("text"), 0o600))
	do(d.Cut(NoFlushLog))
	if err := os.WriteFile(flushed, nil, 0o600); err == nil {
		t.Error("a write succeeds after the cut")
	}
	do(d.Restart(nil))
	if text, err := os.ReadFile(flushed); string(text) != "text" {
		t.Errorf("flushed contents: %q, %v", text, err)
	}
	if text, err := os.ReadFile(not); err == nil {
		t.Errorf("unflushed contents: %q", text)
	}
}
