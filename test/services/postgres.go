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

// A PostgresServer is a PostgreSQL server of this process. It listens on loopback and
// requires no password.
//
// It is not safe for concurrent use.
type PostgresServer struct {
	bin     string // folder of its programs
	folder  string // of its data and log
	leave   bool   // whether folder is kept
	owner   *account
	port    int
	follows int     // port of the server that it is a standby of, 0 if none
	keeper  *keeper // nil if it is stopped
}

// StartPostgres starts a PostgreSQL server and returns when it accepts connections.
//
// Its data are in dir, which is kept when the server is stopped: another server can be
// started with it. If dir is "", they are in a temporary folder that is removed with the
// server.
//
// PostgreSQL refuses to run as root. For root it runs as the user postgres, who becomes
// the owner of dir; temporary folders above it are made passable.
func StartPostgres(ctx context.Context, dir string) (*PostgresServer, error) {
	return startPostgres(ctx, &PostgresServer{leave: dir != ""}, dir)
}

// StartStandby starts a synchronous standby of s, in a temporary folder. From then on s
// commits nothing that the standby does not have.
func (s *PostgresServer) StartStandby(ctx context.Context) (*PostgresServer, error) {
	standby, err := startPostgres(ctx, &PostgresServer{follows: s.port}, "")
	if err != nil {
		return nil, err
	}
	for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		if err := s.Execute(ctx, statement); err != nil {
			return nil, errors.Join(err, standby.Stop())
		}
	}
	return standby, nil
}

// Promote makes a standby a primary server.
func (s *PostgresServer) Promote(ctx context.Context) error {
	return s.Execute(ctx, "SELECT pg_promote()")
}

// Execute runs an SQL command with psql, as the superuser.
func (s *PostgresServer) Execute(ctx context.Context, command string) error {
	out, err := exec.CommandContext(ctx, filepath.Join(s.bin, "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", command, s.URL()).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, out)
	}
	return nil
}

func startPostgres(ctx context.Context, s *PostgresServer, dir string) (*PostgresServer, error) {
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

// URL returns the URL of the server, for its superuser. A restart does not change it.
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

// Kill stops the server like a crash. Stop removes what it leaves.
func (s *PostgresServer) Kill() error { return s.end(Immediate, true) }

// Stop ends the connections and stops the server. A second call does nothing.
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

// postgresScript makes the data if there are none, or copies those of the primary, and
// becomes the server. It is one command, so that nothing of it is left if this process
// dies.
const postgresScript = `
bin=$1 data=$2 port=$3 follows=$4
if [ -e "$data/PG_VERSION" ]; then
	:
elif [ "$follows" -gt 0 ]; then
	"$bin/pg_basebackup" -h 127.0.0.1 -p "$follows" -U postgres -D "$data" --checkpoint=fast --write-recovery-conf --no-sync || exit
else
	"$bin/initdb" --no-sync -U postgres -A trust --locale=C.UTF-8 -E UTF8 -D "$data" || exit
fi
exec "$bin/postgres" -D "$data" -p "$port" \
	-c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=300
`

func (s *PostgresServer) start(ctx context.Context) error {
	data := filepath.Join(s.folder, "data")
	k, err := keep(s.folder, "INT", s.owner, nil, "/bin/sh", "-c", postgresScript, "postgres", s.bin, data, strconv.Itoa(s.port), strconv.Itoa(s.follows))
	if err != nil {
		return err
	}
	if err := k.await(ctx, func() bool { return postgresReady(filepath.Join(data, "postmaster.pid"), k.pid) }); err != nil {
		return errors.Join(err, k.end("QUIT", true))
	}
	s.keeper = k
	return nil
}

// postgresReady reports whether the server with a process number says that it accepts
// connections. Another server could respond on its port.
//
// Source: PostgreSQL's src/include/utils/pidfile.h.
func postgresReady(file string, pid int) bool {
	text, err := os.ReadFile(file)
	lines := strings.Split(string(text), "\n")
	return err == nil && len(lines) >= 8 && lines[0] == strconv.Itoa(pid) && strings.TrimSpace(lines[7]) == "ready"
}

// postgresPrograms returns the folder of the newest PostgreSQL's programs.
func postgresPrograms() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // where Debian installs it, not in PATH
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
