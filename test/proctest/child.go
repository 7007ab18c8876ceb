package proctest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"
)

// Main is called first in a TestMain whose test binary also runs as child processes: in a
// process started by [Start] with a task of type T, it does the task and exits; otherwise
// it does nothing.
func Main[T any](do func(T) error) {
	given := os.Getenv(variable[T]())
	if given == "" {
		return
	}
	var task T
	err := json.Unmarshal([]byte(given), &task)
	if err == nil {
		err = do(task)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// variable returns the environment variable that has a task of type T. Tasks of different
// types do not meet in one test binary.
func variable[T any]() string { return "MEMENTO_TASK_" + reflect.TypeFor[T]().String() }

// A Child is a process with a task.
type Child struct {
	*exec.Cmd
	In    io.WriteCloser
	Lines *bufio.Scanner // of its standard output
	Errs  Buffer         // its standard error
}

// Start starts the test binary with a task. It is killed when the test ends, unless the
// test has ended it.
func Start[T any](t testing.TB, task T) *Child {
	t.Helper()
	given, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &Child{Cmd: exec.Command(binary)}
	c.Env = append(os.Environ(), variable[T]()+"="+string(given))
	c.Stderr = &c.Errs
	if c.In, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Lines = bufio.NewScanner(out)
	if err := c.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return c
}

// End closes the child's input, and waits for it. A failure of the child fails the test.
func (c *Child) End(t testing.TB) {
	t.Helper()
	c.In.Close()
	for c.Lines.Scan() { // so that it does not block on writing
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("child: %v: %s", err, &c.Errs)
	}
}

// Died waits for the child, and reports whether it was killed, as by [Die]. Another
// failure fails the test.
func (c *Child) Died(t testing.TB) bool {
	t.Helper()
	err := c.Wait()
	if said := c.Errs.String(); err != nil && said != "" {
		t.Fatalf("child: %v: %s", err, said)
	}
	return err != nil
}

// Die kills the process that calls it.
func Die() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err == nil {
		select {} // it may take a moment
	}
	panic(fmt.Sprint("not killed: ", err))
}

// Ended returns a channel that is closed when this process's standard input has ended: by
// [Child.End], or at the end of the test.
func Ended() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(done)
	}()
	return done
}

// TimesOpen returns how often this process has a file open; 0 where the system does not
// report it.
func TimesOpen(path string) (n int) {
	files, _ := filepath.Glob("/proc/self/fd/*")
	for _, f := range files {
		if to, err := os.Readlink(f); err == nil && to == path {
			n++
		}
	}
	return n
}
