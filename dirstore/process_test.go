package dirstore

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"memento"
)

// childEnv holds, in a child process, the task it is there for.
const childEnv = "MEMENTO_DIRSTORE_TASK"

// A childTask is what a child process does.
type childTask struct {
	Kind  string // die, write, swap, or restore
	Base  string
	Store memento.StoreID

	Scenario string // of die: the changes to make
	Step     string // of die: at which step
	Nth      int    // of die: at which of these steps, from 1

	Path, Outside string // of swap: what to replace again and again, and by a link to what
	Backup        string // of restore, which dies at the first Step
}

func child(given string) int {
	var t childTask
	err := json.Unmarshal([]byte(given), &t)
	if err == nil {
		switch t.Kind {
		case "die":
			err = t.die()
		case "swap":
			err = t.swap()
		case "restore":
			err = t.restore()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// die makes changes, and kills itself at a step.
func (t childTask) die() error {
	ctx := context.Background()
	armed, seen := t.Scenario == adoption, 0
	hook := func(step string) {
		if !armed || step != t.Step {
			return
		}
		if seen++; seen == t.Nth {
			dieNow()
		}
	}
	b, err := Open(ctx, t.Base, &Options{hook: hook})
	if err != nil {
		return err
	}
	for _, err := range b.List(ctx, t.Store, memento.ListOptions{}) { // catches up
		if err != nil {
			return err
		}
	}
	armed = true
	switch t.Scenario {
	case deleteStore:
		err = b.DeleteStore(ctx, memento.DefaultWorkspace, t.Store)
	case adoption:
	default:
		_, err = b.Apply(ctx, t.Store, memento.Actor{}, scenarios()[t.Scenario])
	}
	if err != nil {
		return err
	}
	return b.Close()
}

func dieNow() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	panic(fmt.Sprint("not killed: ", err))
}

// restore restores a backup, and kills itself at a step.
func (t childTask) restore() error {
	_, err := Restore(context.Background(), t.Base, t.Backup, &RestoreOptions{Replace: true, hook: func(step string) {
		if step == t.Step {
			dieNow()
		}
	}})
	return err
}

// swap replaces a path by a link to something outside, and back, until its
// standard input ends.
func (t childTask) swap() error {
	fmt.Println("ready")
	done := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(done)
	}()
	link, aside := t.Path+".link", t.Path+".aside"
	for n := 0; ; n++ {
		select {
		case <-done:
			return nil
		default:
		}
		// Any of these may fail: the other process is at work as well.
		os.Symlink(t.Outside, link)
		os.Rename(t.Path, aside) // a folder cannot be replaced by a rename
		os.Rename(link, t.Path)
		time.Sleep(time.Duration(n%7) * 10 * time.Microsecond)
		os.Remove(t.Path)
		os.Rename(aside, t.Path)
		time.Sleep(time.Duration(n%5) * 10 * time.Microsecond)
	}
}

// A running child.
type running struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Scanner
	stderr strings.Builder
}

func startChild(t testing.TB, task childTask) *running {
	t.Helper()
	given, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &running{cmd: exec.Command(binary)}
	r.cmd.Env = append(os.Environ(), childEnv+"="+string(given))
	r.cmd.Stderr = &r.stderr
	if r.stdin, err = r.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.stdout = bufio.NewScanner(out)
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.cmd.Process.Kill()
		r.cmd.Wait()
	})
	return r
}

// died waits for the child, and reports whether it killed itself. Another failure fails the test.
func (r *running) died(t testing.TB) bool {
	t.Helper()
	err := r.cmd.Wait()
	if err != nil && r.stderr.Len() > 0 {
		t.Fatalf("child: %v: %s", err, r.stderr.String())
	}
	return err != nil
}
