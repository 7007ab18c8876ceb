package cluster

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"memento/test/leaks"
)

var (
	seed   = flag.Uint64("seed", 1, "the seed of the first round")
	rounds = flag.Int("rounds", 1, "how many rounds, each with the next seed")
	long   = flag.Bool("long", false, "longer rounds, with every fault many times")
)

// workDir is for files shared by all tests.
var workDir string

func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if workDir, err = os.MkdirTemp("", "memento-cluster-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	leaks.Main(m, func() { os.RemoveAll(workDir) })
}
