package main

import (
	"cmp"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// page starts the user's pager for the standard output that follows, if that is a terminal.
// The returned function waits until the user has left the pager.
//
// The pager is MEMENTO_PAGER, else PAGER, else less if it is installed; "" or "cat" means
// none. less ends by itself if everything fits on the screen.
func (a *app) page() (end func()) {
	none := func() {}
	if !a.stdoutTTY || !a.stdinTTY || a.json || a.quiet {
		return none
	}
	pager, chosen := os.LookupEnv("MEMENTO_PAGER")
	if !chosen {
		pager, chosen = os.LookupEnv("PAGER")
	}
	if !chosen {
		pager = "less"
	}
	words := strings.Fields(pager)
	if len(words) == 0 || words[0] == "cat" || runtime.GOOS == "windows" && !chosen || os.Getenv("TERM") == "dumb" {
		return none
	}
	c := exec.Command(words[0], words[1:]...)
	c.Stdout, c.Stderr = a.stdout, a.stderr
	c.Env = append(os.Environ(), "LESS="+cmp.Or(os.Getenv("LESS"), "FRX"))
	in, err := c.StdinPipe()
	if err != nil || a.out.Flush() != nil {
		return none
	}
	if err := c.Start(); err != nil {
		return none // it is not installed
	}
	a.out.Reset(pipeToPager{in})
	return func() {
		_ = a.out.Flush() // the user may have left the pager before the end
		in.Close()
		_ = c.Wait()
		a.out.Reset(a.stdout)
	}
}

// A pipeToPager drops what is written after the pager has ended.
type pipeToPager struct{ w io.Writer }

func (p pipeToPager) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	if isClosedPipe(err) {
		return len(b), nil
	}
	return n, err
}
