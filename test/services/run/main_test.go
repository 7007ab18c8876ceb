//go:build unix

package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"memento/test/needs"
	"memento/test/services"
)

// mainEnv makes this test binary the command.
const mainEnv = "MEMENTO_SERVICES_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainEnv) != "" {
		main()
	}
	os.Exit(m.Run())
}

// command returns the command, to be run where no servers are known, and the
// folder in which it makes those of its servers.
func command(t *testing.T, args ...string) (cmd *exec.Cmd, folder string) {
	t.Helper()
	needs.Check(t, services.Installed()) // the command would install it
	folder = t.TempDir()
	for dir, mode := range map[string]os.FileMode{filepath.Dir(folder): 0o755, folder: 0o777 | os.ModeSticky} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
	}
	cmd = exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), mainEnv+"=1", "TMPDIR="+folder,
		services.PostgresVariable+"=", services.S3Variable+"=", services.S3SecondVariable+"=")
	return cmd, folder
}

func empty(t *testing.T, folder string) {
	t.Helper()
	left, err := os.ReadDir(folder)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestUntilInterrupted(t *testing.T) {
	cmd, folder := command(t)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(out)
	for _, want := range []string{
		"export MEMENTO_TEST_POSTGRES='postgres://postgres@127.0.0.1:", "export MEMENTO_TEST_S3='http://memento:", "export MEMENTO_TEST_S3_SECOND='http://memento:",
	} {
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), want) {
			t.Errorf("it says %q, not %q", lines.Text(), want)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		t.Errorf("interrupted: %v", err)
	}
	empty(t, folder)
}

func TestCommand(t *testing.T) {
	cmd, folder := command(t, "--", "sh", "-c", `echo "$MEMENTO_TEST_POSTGRES $MEMENTO_TEST_S3 $MEMENTO_TEST_S3_SECOND"; cat; exit 3`)
	cmd.Stdin = strings.NewReader("from standard input")
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, os.Stderr
	cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != 3 {
		t.Errorf("exit code %d, not that of the command, 3", got)
	}
	urls, rest, _ := strings.Cut(stdout.String(), "\n")
	if len(strings.Fields(urls)) != 3 || rest != "from standard input" {
		t.Errorf("it says %q", stdout.String())
	}
	empty(t, folder)
}

func TestNoCommand(t *testing.T) {
	cmd, folder := command(t, "--", "no-such-program")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "no-such-program") {
		t.Errorf("%v: %s", err, out)
	}
	empty(t, folder)
}
