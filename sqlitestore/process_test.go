package sqlitestore_test

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

	"memento"
	"memento/sqlitestore"
)

// childEnv holds, in a child process, the task it is there for.
const childEnv = "MEMENTO_SQLITESTORE_TASK"

// A childTask is what a child process does.
type childTask struct {
	Kind  string // write, hold, or restore
	Path  string
	Store memento.StoreID

	Backup string // of restore
	Step   string // of restore: after which it kills itself
}

func child(given string) int {
	var t childTask
	err := json.Unmarshal([]byte(given), &t)
	if err == nil {
		switch t.Kind {
		case "write":
			err = t.write()
		case "hold":
			err = t.hold()
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

// ended is closed when the standard input has ended.
func ended() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(done)
	}()
	return done
}

// write writes pairs, and says which are acknowledged, until its input ends.
func (t childTask) write() error {
	ctx := context.Background()
	b, err := sqlitestore.Open(ctx, t.Path, nil)
	if err != nil {
		return err
	}
	done := ended()
	for i := 0; ; i++ {
		select {
		case <-done:
			return b.Close()
		default:
		}
		made, err := writePair(ctx, b, t.Store, "/child", i)
		if err != nil {
			return err
		}
		for _, v := range made {
			fmt.Println(v.ID)
		}
	}
}

// hold has the file open, and does nothing, until its input ends.
func (t childTask) hold() error {
	b, err := sqlitestore.Open(context.Background(), t.Path, nil)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	<-ended()
	return b.Close()
}

// restore restores a backup, and kills itself in between.
func (t childTask) restore() error {
	opts := &sqlitestore.RestoreOptions{Replace: true}
	opts.SetStep(func(step string) {
		if step != t.Step {
			return
		}
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		panic(fmt.Sprint("not killed: ", err))
	})
	_, err := sqlitestore.Restore(context.Background(), t.Path, t.Backup, opts)
	return err
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
	t.Cleanup(func() { // if the test has not ended it, as it should have
		r.cmd.Process.Kill()
		r.cmd.Wait()
	})
	return r
}

// end ends the child's input, and waits for it.
func (r *running) end(t testing.TB) {
	t.Helper()
	r.stdin.Close()
	for r.stdout.Scan() { // so that it is not stuck with what it says
	}
	if err := r.cmd.Wait(); err != nil {
		t.Fatalf("child: %v: %s", err, r.stderr.String())
	}
}
