//go:build linux

package powercut

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"memento/test/longtest"
	"memento/test/proctest"
)

// prepared returns operations that create the files that those of underFault change.
func prepared() (list []operation) {
	n := 0
	for w := range writers + 1 {
		for _, name := range []string{"a", "b", "dir/c", "dir/d"} {
			n++
			path := fmt.Sprintf("/w%d/%s", w, name)
			list = append(list, operation{Writer: w, N: n, Kind: opCreate, Store: storeOf(w, 0), Path: path, Text: fmt.Sprintf("first line of %s\n", path)})
		}
	}
	return list
}

// underFault returns one operation of each kind, each by another writer, so that the others
// can succeed if one fails.
func underFault() []operation {
	list := []operation{
		{Kind: opCreate, Path: "/w0/new/folder/e", Text: "new\n"},
		{Kind: opReplace, Path: "/w1/a", Old: "first", Text: "other"},
		{Kind: opInsert, Path: "/w2/dir/c", Text: "inserted"},
		{Kind: opRename, Path: "/w3/a", To: "/w3/dir/renamed"},
		{Kind: opRename, Path: "/w4/dir", To: "/w4/moved/dir"},
		{Kind: opDelete, Path: "/w5/a"},
		{Kind: opDelete, Path: "/w6/dir"},
		{Kind: opBatch, Path: "/w7/a", Puts: map[string]string{"/w7/dir/e": "e\n", "/w7/f": "f\n"}},
		{Kind: opRename, Path: "/w8/a", To: "/w8/same folder"},
	}
	for i := range list {
		list[i].Writer, list[i].N, list[i].Store = i, 1, storeOf(i, 0)
	}
	return list
}

// everyPlace makes each operation fail in turn, for debugging.
var everyPlace = flag.Bool("every-place", false, "have each operation of the file system fail once, rather than a few")

// faultKinds are the operations to fail, with the errors.
var faultKinds = []struct {
	name  string
	kind  Kind
	below string
	errno syscall.Errno
}{
	{"flush of a file of memories", Sync, "/memories/", syscall.EIO},
	{"flush of a folder of memories", SyncDir, "/memories", syscall.EIO},
	{"flush of a file", Sync, "", syscall.EIO},
	{"flush of a folder", SyncDir, "", syscall.EIO},
	{"rename", Rename, "", syscall.EIO},
	{"removal of a file", Unlink, "", syscall.EIO},
	{"removal of a folder", Rmdir, "", syscall.EIO},
	{"write", Write, "", syscall.ENOSPC},
	{"new file", Create, "", syscall.ENOSPC},
	{"new folder", Mkdir, "", syscall.ENOSPC},
}

// An operation of the file system fails once, and the power is cut after all calls have
// been answered: acknowledged changes are there, and refused ones wholly or not at all.
func TestFaultThenCut(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			r := rand.New(rand.NewPCG(campaignSeed(t), 0))
			base, oracle := prepare(t, engine)
			hits := 0
			for _, k := range faultKinds {
				t.Run(k.name, func(t *testing.T) {
					every := *everyPlace || longtest.Enabled()
					step := func(most int) int {
						if every {
							return 0
						}
						return r.IntN(most)
					}
					skip := step(4)
					for n := 0; every || n < 2; n++ {
						fault := &Fault{Kind: k.kind, Below: k.below, Skip: skip, Times: 1, Errno: k.errno}
						if !faultThenCut(t, engine, base.Clone(), oracle.clone(), fault) {
							break
						}
						hits++
						if t.Failed() {
							t.Fatalf("number %d failed with %v", skip, k.errno)
						}
						skip += 1 + step(20)
					}
				})
			}
			t.Logf("%d operations failed", hits)
			if hits == 0 {
				t.Error("too few operations failed for a meaningful test")
			}
		})
	}
}

// prepare returns a disk with a store, and an oracle with its contents.
func prepare(t *testing.T, engine string) (*Volume, *oracle) {
	t.Helper()
	d := volume(Strict)(t).(*volumeDisk)
	c := campaign{T: t, engine: engine, disk: d, oracle: newOracle()}
	child := c.start(task{Engine: engine, Dir: d.Dir(), Script: prepared()})
	c.answers(child, len(prepared()))
	child.End(t)
	if t.Failed() {
		t.FailNow()
	}
	if err := d.Restart(nil); err != nil {
		t.Fatal(err)
	}
	return d.Volume, c.oracle
}

// faultThenCut reports whether the fault occurred.
func faultThenCut(t *testing.T, engine string, v *Volume, o *oracle, fault *Fault) bool {
	t.Helper()
	d, err := mountVolume(t, v, Strict)
	if err != nil {
		t.Fatal(err)
	}
	c := campaign{T: t, engine: engine, disk: d, oracle: o}
	v.Inject(fault)
	child := c.start(task{Engine: engine, Dir: d.Dir(), Script: underFault(), Seed: uint64(fault.Skip)})
	refused := c.answers(child, len(underFault()))
	v.Cut()
	_ = child.Process.Kill()
	_ = child.Wait()
	hit := v.Hits(fault) > 0
	if len(refused) > 0 && !hit {
		t.Errorf("refused without a fault: %q", refused)
	}
	if stderr := child.Errs.String(); stderr != "" && !hit {
		t.Errorf("the process failed without a fault: %s", stderr)
	}
	if err := d.Restart(nil); err != nil {
		t.Fatal(err)
	}
	c.inspect(rand.New(rand.NewPCG(uint64(fault.Skip), 0)), 0)
	if err := d.unmount(); err != nil {
		t.Fatal(err)
	}
	d.unmount = func() error { return nil }
	return hit
}

// answers reads reports until n operations are answered, or the process has ended, and
// returns the errors.
func (c *campaign) answers(child *proctest.Child, n int) (refused []string) {
	c.Helper()
	for x := range c.reports(child) {
		switch {
		case x.Found != nil:
			for _, wrong := range c.oracle.inspect(x.Found) {
				c.Error(wrong)
			}
		case x.Begins != nil:
			c.oracle.begins(*x.Begins)
		case x.Done.Err == "":
			c.oracle.done(x.Done.Writer)
			n--
		default:
			refused = append(refused, x.Done.Err)
			n--
		}
		if n == 0 {
			return refused
		}
	}
	return refused
}
