package services

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"memento/test/needs"
)

// A Mode is a way to stop a server.
type Mode string

const (
	// Fast ends all connections and shuts down the server cleanly.
	Fast Mode = "fast"
	// Immediate stops the server like a crash: its next start recovers.
	Immediate Mode = "immediate"
)

// missing returns the error for a server that is not installed.
func missing(what, variable string) error {
	return fmt.Errorf("%s is %w: `make services` (go run ./test/services/run) installs and starts it; or set %s to the URL of a running one", what, needs.ErrMissing, variable)
}

// folderFor returns dir, or a new temporary folder if that is "".
func folderFor(name, dir string) (string, error) {
	if dir == "" {
		return os.MkdirTemp("", "memento-"+name+"-")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o700)
}

// onFreePort calls start with a free loopback port, and with another one if it fails:
// another process may have taken the first one.
func onFreePort(start func(port int) error) error {
	return again(func() error {
		port, err := freePort()
		if err != nil {
			return err
		}
		return start(port)
	})
}

// again retries what fails because another process does the same concurrently.
func again(do func() error) error {
	err := do()
	for range 2 {
		if err != nil {
			time.Sleep(100 * time.Millisecond)
			err = do()
		}
	}
	return err
}

// freePort finds a port below those that systems use for outgoing connections, one of
// which could otherwise take it while its server restarts.
func freePort() (port int, err error) {
	for range 100 {
		port = 10000 + rand.IntN(22000)
		var l net.Listener
		if l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return port, l.Close()
		}
	}
	return 0, err
}

// An account is the user that a server runs as: nil is the user of this process.
type account struct{ uid, gid int }

// postgresAccount returns the account that PostgreSQL runs as.
func postgresAccount() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL refuses to run as root, and there is no user postgres: %w", err)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(u.Gid)
	return &account{uid, gid}, err
}

// own gives a folder to the account, and makes the temporary folders above it passable
// that only root could enter.
func (a *account) own(folder string) error {
	if a == nil {
		return nil
	}
	if err := os.Chown(folder, a.uid, a.gid); err != nil {
		return err
	}
	temporary := filepath.Clean(os.TempDir()) + string(filepath.Separator)
	for dir := filepath.Dir(folder); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		switch {
		case err != nil:
			return err
		case info.Mode().Perm()&0o001 != 0:
		case !strings.HasPrefix(dir, temporary):
			return fmt.Errorf("PostgreSQL runs as the user postgres, who cannot enter %s; set TMPDIR to a folder that all can enter", dir)
		default:
			if err := os.Chmod(dir, info.Mode().Perm()|0o011); err != nil {
				return err
			}
		}
	}
	return nil
}
