//go:build linux

package powercut

import (
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"memento/test/proctest"
)

// A disk is a file system whose power can be cut.
type disk interface {
	// Dir is its mount point.
	Dir() string
	// Arm schedules a cut at a random time: soon, if early is true.
	Arm(r *rand.Rand, early bool) cut
	// Restart mounts it again with the remaining data. No process may use it.
	Restart(r *rand.Rand) error
	// Keep copies its contents to a folder, to examine a failure.
	Keep(dir string) error
}

// A cut is a scheduled power cut. begins is closed when it begins and done when it is
// complete; in between some operations fail and others do not.
type cut struct {
	begins, done <-chan struct{}

	// at is when it began, by ktime, if flushes confirmed during the cut may not be
	// durable; nil if they are. It is read when begins is closed.
	at *int64
}

// certain reports whether an operation acknowledged at a time is durable.
func (c cut) certain(at int64) bool { return c.at == nil || !isClosed(c.begins) || at < *c.at }

// seedEnv is the environment variable with the seed of a campaign to repeat.
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

// cutsFlag overrides the number of cuts, for debugging.
var cutsFlag = flag.Int("cuts", 0, "number of power cuts in each campaign; 0 for the usual one")

// freshEvery is the number of cuts after which a campaign starts again with an empty disk.
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

// run makes a number of cuts, and compares the contents after each with the operations
// before it.
func (c *campaign) run(cuts int, newDisk func(*testing.T) disk) {
	if *cutsFlag > 0 {
		cuts = *cutsFlag
	}
	seed := campaignSeed(c.T)
	var err error
	if c.log, err = os.CreateTemp("", "memento-powercut-*.log"); err != nil {
		c.Fatal(err)
	}
	defer func() {
		c.log.Close()
		if c.Failed() && c.disk != nil {
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
				c.inspect(r, cycle)
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
	c.inspect(rand.New(rand.NewPCG(seed, 1<<32)), cuts)
	c.acked += c.oracle.acked
	c.Logf("%d cuts, %d of them while opening, %d operations acknowledged", cuts, c.early, c.acked)
	if c.acked == 0 {
		c.Errorf("no operation was acknowledged in %d cuts: this tests nothing", cuts)
	}
}

// cycle has a process work until the cut, and restarts the disk.
func (c *campaign) cycle(r *rand.Rand, cycle int, early bool) {
	c.Helper()
	var power cut
	arm := func() {
		power = c.disk.Arm(r, early)
	}
	if early {
		arm()
	}
	child := c.start(task{Engine: c.engine, Dir: c.disk.Dir(), Seed: r.Uint64(), Cycle: cycle, After: c.oracle.seq})
	if early {
		go killAt(child, power.done)
	}
	c.read(child, func() {
		if !early {
			arm()
			go killAt(child, power.done)
		}
	}, &power)
	_ = child.Wait()
	if !isClosed(power.begins) {
		c.Errorf("cycle %d: the process ended before the cut: %s", cycle, &child.Errs)
		return
	}
	<-power.done
	if err := c.disk.Restart(r); err != nil {
		c.Fatal(err)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false // also if the channel is nil
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

// start starts a process with room for long reports.
func (c *campaign) start(k task) *proctest.Child {
	c.Helper()
	child := proctest.Start(c, k)
	child.Lines.Buffer(nil, 64<<20)
	return child
}

// reports yields the reports of a process until its end.
func (c *campaign) reports(child *proctest.Child) iter.Seq[report] {
	return func(yield func(report) bool) {
		for child.Lines.Scan() {
			if c.log != nil {
				fmt.Fprintf(c.log, "%s\n", child.Lines.Bytes())
			}
			var x report
			if err := json.Unmarshal(child.Lines.Bytes(), &x); err != nil {
				return // a line cut short by the end of the process
			}
			if !yield(x) {
				return
			}
		}
	}
}

// read handles the reports of a process until its end.
func (c *campaign) read(child *proctest.Child, opened func(), power *cut) {
	c.Helper()
	seen := false
	for x := range c.reports(child) {
		switch {
		case x.Found != nil:
			seen = true
			for _, wrong := range c.oracle.inspect(x.Found) {
				c.Error(wrong)
			}
			opened()
		case x.Begins != nil:
			c.oracle.begins(*x.Begins)
		case x.Done.Err == "":
			if power.certain(x.Done.At) {
				c.oracle.done(x.Done.Writer)
			}
		case !isClosed(power.begins):
			c.Errorf("operation %+v failed before the cut: %s", c.oracle.open[x.Done.Writer], x.Done.Err)
		}
	}
	if !seen {
		c.early++
	}
}

// inspect opens the store again, without a cut.
func (c *campaign) inspect(r *rand.Rand, cycle int) {
	c.Helper()
	child := c.start(task{Engine: c.engine, Dir: c.disk.Dir(), Seed: r.Uint64(), Cycle: cycle, After: c.oracle.seq, Only: true})
	seen := false
	early := c.early
	c.read(child, func() { seen = true }, &cut{})
	c.early = early
	if err := child.Wait(); err != nil || !seen {
		c.Errorf("the process that inspects the store: %v: %s", err, &child.Errs)
	}
}
