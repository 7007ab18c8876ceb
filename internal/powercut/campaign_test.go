//go:build linux

package powercut

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"memento/internal/proctest"
)

// A disk is a file system that can be cut.
type disk interface {
	// Dir is where it is mounted.
	Dir() string
	// Arm has the cut come at some time: soon, if early is true. The channel is closed
	// when it has come.
	Arm(r *rand.Rand, early bool) <-chan struct{}
	// Restart mounts it again with what is left. Nobody uses it any more.
	Restart(r *rand.Rand) error
	// Keep leaves what is on it in a folder, for who looks into a failure.
	Keep(dir string) error
}

// seedEnv repeats a campaign.
const seedEnv = "MEMENTO_POWERCUT_SEED"

func campaignSeed(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if given := os.Getenv(seedEnv); given != "" {
		var err error
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatalf("%s: %v", seedEnv, err)
		}
	}
	t.Logf("repeat with %s=%d", seedEnv, seed)
	return seed
}

// freshEvery is after how many cuts a campaign goes on with an empty disk.
const freshEvery = 12

// A campaign is a series of cuts.
type campaign struct {
	*testing.T
	engine string
	disk   disk
	oracle *oracle
	log    *os.File // of all reports
	early  int      // cuts before the backend was open
	acked  int
}

// run cuts so many times. What was written before each cut is compared with what is found after it.
func (c *campaign) run(cuts int, newDisk func(*testing.T) disk) {
	seed := campaignSeed(c.T)
	var err error
	if c.log, err = os.CreateTemp("", "memento-powercut-*.log"); err != nil {
		c.Fatal(err)
	}
	defer func() {
		c.log.Close()
		if c.Failed() {
			kept := c.log.Name() + ".disk"
			c.Logf("operations are in %s, the disk is in %s: %v", c.log.Name(), kept, c.disk.Keep(kept))
		} else {
			os.Remove(c.log.Name())
		}
	}()
	for cycle := range cuts {
		r := rand.New(rand.NewPCG(seed, uint64(cycle)))
		if cycle%freshEvery == 0 {
			if c.oracle != nil {
				c.look(r, cycle)
				c.acked += c.oracle.acked
			}
			c.disk, c.oracle = newDisk(c.T), newOracle()
		}
		fmt.Fprintf(c.log, "cycle %d\n", cycle)
		c.cycle(r, cycle, r.IntN(5) == 0)
		if c.Failed() {
			c.Fatalf("cut %d of %d", cycle, cuts)
		}
	}
	c.look(rand.New(rand.NewPCG(seed, 1<<32)), cuts)
	c.acked += c.oracle.acked
	c.Logf("%d cuts, %d of them while opening, %d operations acknowledged", cuts, c.early, c.acked)
	if c.acked < cuts {
		c.Errorf("only %d operations were acknowledged in %d cuts: this tests nothing", c.acked, cuts)
	}
}

// cycle lets a process work until the cut, and switches the disk on again.
func (c *campaign) cycle(r *rand.Rand, cycle int, early bool) {
	c.Helper()
	var cut <-chan struct{}
	if early {
		cut = c.disk.Arm(r, true)
	}
	child := c.start(task{Engine: c.engine, Dir: c.disk.Dir(), Seed: r.Uint64(), Cycle: cycle, After: c.oracle.seq})
	if early {
		go killAt(child, cut)
	}
	c.read(child, func(f *found) {
		if !early {
			cut = c.disk.Arm(r, false)
			go killAt(child, cut)
		}
	}, func() bool {
		select {
		case <-cut:
			return true
		default:
			return false
		}
	})
	child.Wait()
	if said := child.Errs.String(); said != "" && !isClosed(cut) {
		c.Errorf("cycle %d: the process failed before the cut: %s", cycle, said)
	}
	if !isClosed(cut) {
		c.Errorf("cycle %d: the process ended before the cut", cycle)
		return
	}
	if err := c.disk.Restart(r); err != nil {
		c.Fatal(err)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return c != nil
	default:
		return false
	}
}

// killAt kills a process when the power is cut, and also if that takes too long.
func killAt(child *proctest.Child, cut <-chan struct{}) {
	select {
	case <-cut:
	case <-time.After(time.Minute):
	}
	_ = child.Process.Kill()
}

// start starts a process, whose reports can be long.
func (c *campaign) start(k task) *proctest.Child {
	c.Helper()
	child := proctest.Start(c, taskEnv, k)
	child.Lines.Buffer(nil, 64<<20)
	return child
}

// read takes the reports of a process until there are no more.
func (c *campaign) read(child *proctest.Child, opened func(*found), isCut func() bool) {
	c.Helper()
	seen := false
	for child.Lines.Scan() {
		fmt.Fprintf(c.log, "%s\n", child.Lines.Bytes())
		var x report
		if err := json.Unmarshal(child.Lines.Bytes(), &x); err != nil {
			break // a line that the process did not live to finish
		}
		switch {
		case x.Found != nil:
			seen = true
			for _, wrong := range c.oracle.look(x.Found) {
				c.Error(wrong)
			}
			opened(x.Found)
		case x.Begins != nil:
			c.oracle.begins(*x.Begins)
		case x.Done.Err == "":
			c.oracle.done(x.Done.Writer)
		case !isCut():
			c.Errorf("operation %+v failed before the cut: %s", c.oracle.open[x.Done.Writer], x.Done.Err)
		}
	}
	if !seen {
		c.early++
	}
}

// look opens the store once more, without a cut.
func (c *campaign) look(r *rand.Rand, cycle int) {
	c.Helper()
	child := c.start(task{Engine: c.engine, Dir: c.disk.Dir(), Seed: r.Uint64(), Cycle: cycle, After: c.oracle.seq, Only: true})
	seen := false
	early := c.early
	c.read(child, func(*found) { seen = true }, func() bool { return false })
	c.early = early
	if err := child.Wait(); err != nil || !seen {
		c.Errorf("the process that looks: %v: %s", err, &child.Errs)
	}
}

// tempDir is a folder to mount at. It is removed only if nothing is mounted there.
func mountPoint(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}
