//go:build linux

package powercut

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"memento/internal/longtest"
	"memento/internal/proctest"
)

// prepared are operations that make what those of underFault change.
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

// underFault has one operation of each kind, each by another writer, so that one
// that fails keeps no other from succeeding.
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

// faultKinds are the operations that are made to fail, with the errors.
var faultKinds = []struct {
	kind  Kind
	errno syscall.Errno
}{
	{SyncDir, syscall.EIO}, {Sync, syscall.EIO}, {Rename, syscall.EIO}, {Unlink, syscall.EIO},
	{Write, syscall.ENOSPC}, {Create, syscall.ENOSPC}, {Mkdir, syscall.ENOSPC}, {Rmdir, syscall.EIO},
}

// An operation of the file system fails once, the power is cut after all calls have
// been answered: what was acknowledged is there, and what was refused is there
// wholly or not at all.
func TestFaultThenCut(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			seed := campaignSeed(t)
			base, oracle := prepare(t, engine)
			runs, hits := 0, 0
			for i, k := range faultKinds {
				r := rand.New(rand.NewPCG(seed, uint64(i)))
				// All places in a long run, and otherwise some.
				for skip := r.IntN(longtest.Scaled(8, 1)); ; skip += 1 + r.IntN(longtest.Scaled(40, 1)) {
					runs++
					if !faultThenCut(t, engine, base.Clone(), oracle.clone(), &Fault{Kind: k.kind, Skip: skip, Times: 1, Errno: k.errno}) {
						break
					}
					if hits++; t.Failed() {
						t.Fatalf("%s, number %d, with %v", k.kind, skip, k.errno)
					}
				}
			}
			t.Logf("%d runs, in %d of them an operation failed", runs, hits)
			if hits < 3 {
				t.Error("too few operations failed for this to test anything")
			}
		})
	}
}

// prepare returns a disk with a store, and what is in it.
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

// faultThenCut reports whether the fault came about.
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
	if said := child.Errs.String(); said != "" && !hit {
		t.Errorf("the process failed without a fault: %s", said)
	}
	if err := d.Restart(nil); err != nil {
		t.Fatal(err)
	}
	c.look(rand.New(rand.NewPCG(uint64(fault.Skip), 0)), 0)
	if err := d.unmount(); err != nil {
		t.Fatal(err)
	}
	d.unmount = func() error { return nil }
	return hit
}

// answers reads reports until so many operations are answered, or the process has
// ended, and returns the refusals.
func (c *campaign) answers(child *proctest.Child, n int) (refused []string) {
	c.Helper()
	for x := range c.reports(child) {
		switch {
		case x.Found != nil:
			for _, wrong := range c.oracle.look(x.Found) {
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
