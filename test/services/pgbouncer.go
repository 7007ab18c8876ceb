package services

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"memento/test/needs"
)

// PgBouncer is a connection pooler for a PostgreSQL server, on loopback, in transaction
// mode.
type PgBouncer struct {
	folder string
	port   int
	keeper *keeper
}

// StartPgBouncer starts a pooler for s, with a maximum number of connections to it.
func (s *PostgresServer) StartPgBouncer(ctx context.Context, connections int) (*PgBouncer, error) {
	program, err := pgbouncerProgram()
	if err != nil {
		return nil, err
	}
	p := new(PgBouncer)
	if p.folder, err = folderFor("pgbouncer", ""); err != nil {
		return nil, err
	}
	config := filepath.Join(p.folder, "config")
	err = onFreePort(func(port int) (err error) {
		p.port = port
		text := fmt.Sprintf(pgbouncerConfig, s.port, port, connections)
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			return err
		}
		if err := s.owner.own(p.folder); err != nil { // it refuses to run as root, too
			return err
		}
		if p.keeper, err = keep(p.folder, "INT", s.owner, nil, program, "-q", config); err != nil {
			return err
		}
		err = p.keeper.await(ctx, func() bool {
			c, err := net.Dial("tcp", p.address())
			if err != nil {
				return false
			}
			return c.Close() == nil
		})
		if err != nil {
			err = errors.Join(err, p.keeper.end("INT", true))
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start pgbouncer: %w", err), os.RemoveAll(p.folder))
	}
	return p, nil
}

const pgbouncerConfig = `[databases]
postgres = host=127.0.0.1 port=%d user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 200
default_pool_size = %d
`

func (p *PgBouncer) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)) }

// URL returns the URL of the pooler, for the server's superuser.
func (p *PgBouncer) URL() string {
	return "postgres://postgres@" + p.address() + "/postgres?sslmode=disable"
}

// Stop stops the pooler.
func (p *PgBouncer) Stop() error { return p.keeper.end("INT", false) }

func pgbouncerProgram() (string, error) {
	const debian = "/usr/sbin/pgbouncer" // which is not in every PATH
	if _, err := os.Stat(debian); err == nil {
		return debian, nil
	}
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		return "", fmt.Errorf("pgbouncer is %w: `make services` (go run ./test/services/run) installs it", needs.ErrMissing)
	}
	return program, nil
}
