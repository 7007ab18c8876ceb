package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"memento/test/proctest"
	"memento/test/race"
)

// program builds the program once for all tests.
var program = sync.OnceValues(func() (string, error) {
	file := filepath.Join(workDir, "memento.exe") // every system accepts this as a program
	args := []string{"build", "-o", file}
	if race.Enabled {
		args = append(args, "-race")
	}
	build := exec.Command("go", append(args, "./cmd/memento")...)
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return file, nil
})

// A server is a process of "memento serve".
type server struct {
	name    string
	args    []string
	env     []string
	log     *os.File // standard error of all its processes
	address string   // the same for all of them; "" before the first
	keyFile string   // of the first
	cmd     *exec.Cmd
}

// start starts a process, and waits until it listens.
func (s *server) start(ctx context.Context) error {
	binary, err := program()
	if err != nil {
		return err
	}
	address := s.address
	if address == "" {
		address = "127.0.0.1:0"
	}
	s.cmd = exec.Command(binary, append([]string{"serve", "--json", "--address", address, "--metrics", "off"}, s.args...)...)
	s.cmd.Env = append(os.Environ(), s.env...)
	s.cmd.Stderr = s.log
	var at struct {
		Address string
		KeyFile string `json:"key_file"`
	}
	if err := proctest.Serve(ctx, s.cmd, &at); err != nil {
		return fmt.Errorf("%s: %w: %s", s.name, err, s.lastWords())
	}
	if s.address == "" {
		s.address, s.keyFile = at.Address, at.KeyFile
	}
	return nil
}

// kill ends the process at once.
func (s *server) kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// stop ends the process cleanly.
func (s *server) stop() error {
	if s.cmd == nil {
		return nil
	}
	cmd := s.cmd
	s.cmd = nil
	if err := proctest.Interrupt(cmd); err != nil {
		return fmt.Errorf("%s: %w: %s", s.name, err, s.lastWords())
	}
	return nil
}

// lastWords returns the last lines of its log.
func (s *server) lastWords() string {
	text, err := os.ReadFile(s.log.Name())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

// crashed returns log lines that no program should write.
func (s *server) crashed() string {
	text, err := os.ReadFile(s.log.Name())
	if err != nil {
		return err.Error()
	}
	for _, sign := range []string{"DATA RACE", "panic", "fatal error"} {
		if i := bytes.Index(text, []byte(sign)); i >= 0 {
			return fmt.Sprintf("%s said: %.2000s", s.name, text[i:])
		}
	}
	return ""
}

// newServer returns a server that is not started yet. It is killed when the test ends.
func newServer(t *testing.T, dir, name string, env, args []string) *server {
	t.Helper()
	log, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	s := &server{name: name, args: args, env: append([]string{"XDG_DATA_HOME=" + dir, "HOME=" + dir, "LocalAppData=" + dir}, env...), log: log}
	t.Cleanup(func() {
		s.kill()
		log.Close()
	})
	return s
}
