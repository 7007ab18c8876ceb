//go:build unix

package services

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"memento/test/leaks"
	"memento/test/needs"
	"memento/test/proctest"
)

// taskEnv makes this test binary a process that starts all servers, says so, and
// stops them at the end of its input.
const taskEnv = "MEMENTO_SERVICES_TASK"

func TestMain(m *testing.M) {
	if os.Getenv(taskEnv) == "" {
		leaks.Main(m, nil)
	}
	stop, err := ForAll(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, k := range []*keeper{postgres.own.(*PostgresServer).keeper, s3.own.(*S3Process).keeper, s3Second.own.(*S3Process).keeper} {
		fmt.Println(k.pid)
	}
	os.Stdout.Close()
	io.Copy(io.Discard, os.Stdin)
	stop()
}

// A child is a process that has servers.
type child struct {
	*exec.Cmd
	stdin  io.Closer
	stdout io.Reader
	dir    string // for its temporary files, empty at first
}

func startChild(t *testing.T) *child {
	t.Helper()
	needs.Check(t, Installed())
	c := &child{Cmd: exec.Command(os.Args[0]), dir: t.TempDir()}
	if err := os.Chmod(filepath.Dir(c.dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(c.dir, 0o777|os.ModeSticky); err != nil { // as /tmp is
		t.Fatal(err)
	}
	c.Env = append(os.Environ(), taskEnv+"=1", "TMPDIR="+c.dir, PostgresVariable+"=", S3Variable+"=", S3SecondVariable+"=")
	c.Stderr = os.Stderr
	var err error
	if c.stdin, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if c.stdout, err = c.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	return c
}

// pids waits until the child has started its servers.
func (c *child) pids(t *testing.T) (pids []int) {
	t.Helper()
	lines := bufio.NewScanner(c.stdout)
	for lines.Scan() {
		var pid int
		if _, err := fmt.Sscan(lines.Text(), &pid); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	if len(pids) != 3 {
		t.Fatalf("the child started %d servers", len(pids))
	}
	return pids
}

// left returns what is in the child's folder.
func (c *child) left(t *testing.T) (files []string) {
	t.Helper()
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		files = append(files, e.Name())
	}
	return files
}

// Nothing of a server is left when its process has stopped it.
func TestStopped(t *testing.T) {
	c := startChild(t)
	pids := c.pids(t)
	c.stdin.Close()
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		gone(t, pid)
	}
	if left := c.left(t); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// Nothing of a server is left when its process is killed, be it while the server
// starts.
func TestKilled(t *testing.T) {
	for _, stage := range []string{
		"memento-postgres-*/log", "memento-postgres-*/data", "memento-postgres-*/data/PG_VERSION", "memento-postgres-*/data/postmaster.pid",
		"memento-versitygw-*/log", "memento-minio-*/log", "all",
	} {
		t.Run(strings.ReplaceAll(stage, "/", " "), func(t *testing.T) {
			t.Parallel()
			c := startChild(t)
			var pids []int
			if stage == "all" {
				pids = c.pids(t)
			} else {
				proctest.Until(t, stage, func() bool {
					found, err := filepath.Glob(filepath.Join(c.dir, stage))
					return err != nil || len(found) > 0
				})
			}
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			c.Wait()
			// The keeper removes a folder once the server is gone.
			proctest.Until(t, "folders are removed", func() bool { return len(c.left(t)) == 0 })
			for _, pid := range pids {
				gone(t, pid)
			}
			proctest.Until(t, "processes end", func() bool { return !mentioned(c.dir) })
		})
	}
}

// mentioned reports whether a process has a folder in its command line, where
// there is a /proc to tell.
func mentioned(folder string) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return slices.ContainsFunc(files, func(file string) bool {
		line, _ := os.ReadFile(file) // which is none if the process has ended
		return strings.Contains(string(line), folder)
	})
}
