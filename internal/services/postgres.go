package services

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A PostgresServer is a PostgreSQL server of this process. It listens on
// loopback and trusts everybody.
//
// It is not safe for concurrent use.
type PostgresServer struct {
	bin    string // the folder of its programs
	folder string // of its data and log
	leave  bool   // whether folder stays
	owner  *account
	port   int
	keeper *keeper // nil if it is stopped
}

// StartPostgres starts a PostgreSQL server and returns when it takes
// connections.
//
// Its data are kept in dir, which stays when the server is stopped: another can
// be started with it. If dir is "", they are in a temporary folder that goes away
// with the server.
//
// PostgreSQL refuses to run as root. For root it runs as the user postgres, to
// whom dir then belongs; temporary folders above it are made passable.
func StartPostgres(ctx context.Context, dir string) (*PostgresServer, error) {
	s := &PostgresServer{leave: dir != ""}
	var err error
	if s.bin, err = postgresPrograms(); err != nil {
		return nil, err
	}
	if s.owner, err = postgresAccount(); err != nil {
		return nil, err
	}
	if s.folder, err = folderFor("postgres", dir); err != nil {
		return nil, err
	}
	if err := s.owner.own(s.folder); err != nil {
		return nil, err
	}
	err = onFreePort(func(port int) error {
		s.port = port
		return s.start(ctx)
	})
	if err != nil {
		if !s.leave {
			os.RemoveAll(s.folder)
		}
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	return s, nil
}

// URL returns where the server is, for its superuser. A restart does not change it.
func (s *PostgresServer) URL() string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", s.port)
}

// Restart stops the server, and starts it again with the same data and URL.
func (s *PostgresServer) Restart(ctx context.Context, mode Mode) error {
	if err := s.end(mode, true); err != nil {
		return err
	}
	return again(func() error { return s.start(ctx) })
}

// Stop ends the connections and stops the server. Stopping it once more does
// nothing.
func (s *PostgresServer) Stop() error {
	err := s.end(Fast, s.leave)
	if s.leave {
		return err
	}
	return errors.Join(err, os.RemoveAll(s.folder)) // its owner cannot if the folder above is root's
}

func (s *PostgresServer) end(mode Mode, leave bool) error {
	if s.keeper == nil {
		return nil
	}
	k := s.keeper
	s.keeper = nil
	return k.end(map[Mode]string{Fast: "INT", Immediate: "QUIT"}[mode], leave)
}

// postgresScript makes the data if there are none, and becomes the server. It is
// one command, so that nothing of it is left if this process dies.
const postgresScript = `
bin=$1 data=$2 port=$3
[ -e "$data/PG_VERSION" ] ||
	"$bin/initdb" --no-sync -U postgres -A trust --locale=C.UTF-8 -E UTF8 -D "$data" || exit
exec "$bin/postgres" -D "$data" -p "$port" \
	-c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=300
`

func (s *PostgresServer) start(ctx context.Context) error {
	data := filepath.Join(s.folder, "data")
	k, err := keep(s.folder, "INT", s.owner, nil, "/bin/sh", "-c", postgresScript, "postgres", s.bin, data, strconv.Itoa(s.port))
	if err != nil {
		return err
	}
	if err := k.await(ctx, func() bool { return postgresReady(filepath.Join(data, "postmaster.pid"), k.pid) }); err != nil {
		return errors.Join(err, k.end("QUIT", true))
	}
	s.keeper = k
	return nil
}

// postgresReady reports whether the server with a process number says that it
// takes connections. Asking its port could be answered by another server.
//
// Source: PostgreSQL's src/include/utils/pidfile.h.
func postgresReady(file string, pid int) bool {
	text, err := os.ReadFile(file)
	lines := strings.Split(string(text), "\n")
	return err == nil && len(lines) >= 8 && lines[0] == strconv.Itoa(pid) && strings.TrimSpace(lines[7]) == "ready"
}

// postgresPrograms returns the folder of the newest PostgreSQL's programs.
func postgresPrograms() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // Debian's place, not in PATH
	version := func(program string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(program))))
		return n
	}
	if len(found) > 0 {
		return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })), nil
	}
	if program, err := exec.LookPath("postgres"); err == nil {
		return filepath.Dir(program), nil
	}
	return "", missing("PostgreSQL", PostgresVariable)
}
