package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// A pgbench is PostgreSQL's own benchmark, with the simple update: a transaction
// that updates a row, reads it, and inserts one.
type pgbench struct {
	program string
	env     []string // where the database is
}

// startPgbench makes pgbench's tables.
func (b *bench) startPgbench(ctx context.Context, p *postgres, pool *pgxpool.Pool, scale int) (*pgbench, error) {
	var version int
	if err := pool.QueryRow(ctx, "SELECT current_setting('server_version_num')::int / 10000").Scan(&version); err != nil {
		return nil, err
	}
	program, err := findPgbench(version)
	if err != nil {
		return nil, err
	}
	g := &pgbench{program: program, env: append(os.Environ(),
		"PGHOST="+p.config.Host, "PGPORT="+strconv.Itoa(int(p.config.Port)), "PGUSER="+p.config.User,
		"PGPASSWORD="+p.config.Password, "PGDATABASE="+p.database, "PGSSLMODE=disable")}
	return g, b.timed(fmt.Sprintf("pgbench's tables at scale %d", scale), func() error {
		_, err := g.call(ctx, "--initialize", "--quiet", "--scale", strconv.Itoa(scale))
		return err
	})
}

// findPgbench returns the program of the server's version. Debian keeps it beside
// the server.
func findPgbench(version int) (string, error) {
	program := filepath.Join("/usr/lib/postgresql", strconv.Itoa(version), "bin/pgbench")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	program, err := exec.LookPath("pgbench")
	if err != nil {
		return "", errors.New("pgbench is not installed: it comes with the PostgreSQL server, on Debian as postgresql-contrib or postgresql")
	}
	return program, nil
}

// run has as many clients as a team has callers make transactions.
func (g *pgbench) run(ctx context.Context, atLeast time.Duration) (measure, error) {
	seconds := int(max(1, atLeast.Round(time.Second).Seconds()))
	out, err := g.call(ctx, "--skip-some-updates", "--protocol", "prepared", "--no-vacuum",
		"--client", strconv.Itoa(teamSize), "--jobs", "2", "--time", strconv.Itoa(seconds))
	if err != nil {
		return measure{}, err
	}
	return parsePgbench(out)
}

var (
	pgbenchDone = regexp.MustCompile(`number of transactions actually processed: (\d+)`)
	pgbenchRate = regexp.MustCompile(`tps = ([0-9.]+) \(without initial connection time\)`)
)

// parsePgbench reads what pgbench says at its end.
func parsePgbench(out []byte) (measure, error) {
	done, rate := pgbenchDone.FindSubmatch(out), pgbenchRate.FindSubmatch(out)
	if done == nil || rate == nil {
		return measure{}, fmt.Errorf("pgbench said %.500q", out)
	}
	n, err1 := strconv.Atoi(string(done[1]))
	perSecond, err2 := strconv.ParseFloat(string(rate[1]), 64)
	if err := errors.Join(err1, err2); err != nil {
		return measure{}, err
	}
	return measure{Calls: n, Nanos: int64(float64(n) / perSecond * 1e9)}, nil
}

func (g *pgbench) call(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, g.program, args...)
	var complaints bytes.Buffer
	cmd.Env, cmd.Stderr = g.env, &complaints
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("pgbench: %w: %.500s", err, complaints.Bytes())
	}
	return out, nil
}
