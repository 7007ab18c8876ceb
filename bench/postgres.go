package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"memento"
	"memento/internal/services"
	"memento/pgstore"
)

// A postgres is an engine on a PostgreSQL server: a database of its own, in which
// each place is a schema.
type postgres struct {
	config   *pgx.ConnConfig // of the database
	url      string          // of the server
	database string
}

func openPostgres(ctx context.Context) (*postgres, error) {
	url, err := services.Postgres(ctx)
	if err != nil {
		return nil, err
	}
	p := &postgres{url: url, database: fmt.Sprintf("memento_bench_%d", time.Now().UnixNano())}
	if p.config, err = pgx.ParseConfig(url); err != nil {
		return nil, err
	}
	p.config.Database = p.database
	return p, p.onServer(ctx, "CREATE DATABASE "+p.database)
}

// onServer executes a command outside of the database.
func (p *postgres) onServer(ctx context.Context, command string) error {
	conn, err := pgx.Connect(ctx, p.url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, command)
	return errors.Join(err, conn.Close(ctx))
}

// dsn is how libpq and pgx are told of the database.
func (p *postgres) dsn() string {
	return fmt.Sprintf("host=%s port=%d user=%s password='%s' dbname=%s sslmode=disable",
		p.config.Host, p.config.Port, p.config.User, p.config.Password, p.database)
}

func (p *postgres) open(ctx context.Context, place string) (memento.Backend, error) {
	return pgstore.Open(ctx, p.dsn(), &pgstore.Options{Schema: place, MaxConns: teamSize})
}

// settle counts what tables hold, as the server does by itself within a minute.
func (p *postgres) settle(ctx context.Context, _ string) error {
	conn, err := pgx.ConnectConfig(ctx, p.config.Copy())
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "VACUUM ANALYZE")
	return errors.Join(err, conn.Close(ctx))
}

func (p *postgres) indexes() bool { return true }

func (p *postgres) Close() error {
	return p.onServer(context.Background(), "DROP DATABASE "+p.database+" WITH (FORCE)")
}

// The targets of pgstore, against what the server itself can do.
const (
	targetPgbench = 0.5
	targetSelect  = 0.5
)

// pgbenchScale makes a table of 1.6 million rows.
const pgbenchScale = 16

// measurePostgres compares edits with pgbench's transactions, and views with
// single-row selects.
func (b *bench) measurePostgres(ctx context.Context) (f *besideFigures, err error) {
	e, err := b.engine(ctx, enginePostgres)
	if err != nil {
		return nil, err
	}
	p := e.(*postgres)
	fmt.Fprintf(b.progress, "postgres beside pgbench and selects\n")
	f = &besideFigures{}
	scale := pgbenchScale
	if b.quick {
		scale = 1
	}
	raw, err := pgxpool.New(ctx, p.dsn()+fmt.Sprintf(" pool_max_conns=%d", teamSize))
	if err != nil {
		return nil, err
	}
	defer raw.Close()
	if f.Medium, err = describePostgres(ctx, raw); err != nil {
		return nil, err
	}
	bench, err := b.startPgbench(ctx, p, raw, scale)
	if err != nil {
		return nil, err
	}
	backend, err := p.open(ctx, "beside")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, backend.Close()) }()
	t, screened, err := newTeams(ctx, backend, b.seed)
	if err != nil {
		return nil, err
	}
	rows, err := newSelects(ctx, raw, t.notes)
	if err != nil {
		return nil, err
	}
	if err := p.settle(ctx, ""); err != nil {
		return nil, err
	}
	transactions := fmt.Sprintf("pgbench -N -M prepared -s %d", scale)
	return f, b.hold(ctx, f,
		contest{strReplace, transactions, targetPgbench, bench.run, byTeam(t.strReplace)},
		contest{strReplace + screenedToo, transactions, targetPgbench, bench.run, byTeam(screened.strReplace)},
		contest{viewFile, "prepared select of a row as large, through pgx", targetSelect, rows.run, byTeam(t.view)},
		contest{create, transactions, 0, bench.run, byTeam(t.create)},
	)
}

// describePostgres says which server it is, and whether it keeps what it says.
func describePostgres(ctx context.Context, pool *pgxpool.Pool) (string, error) {
	values := map[string]string{}
	for _, name := range []string{"server_version", "fsync", "synchronous_commit", "shared_buffers"} {
		var value string
		if err := pool.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&value); err != nil {
			return "", err
		}
		values[name] = value
	}
	return fmt.Sprintf("PostgreSQL %s on the same machine, fsync %s, synchronous_commit %s, shared_buffers %s",
		values["server_version"], values["fsync"], values["synchronous_commit"], values["shared_buffers"]), nil
}

// selects read rows of a table that has nothing but texts.
type selects struct {
	pool *pgxpool.Pool
	rows int
}

// newSelects makes a table with as many rows, as large, as a team's stores have.
func newSelects(ctx context.Context, pool *pgxpool.Pool, notes []note) (*selects, error) {
	s := &selects{pool: pool, rows: teamSize * len(notes)}
	if _, err := pool.Exec(ctx, "CREATE TABLE bare (id bigint PRIMARY KEY, text text NOT NULL)"); err != nil {
		return nil, err
	}
	for id := range s.rows {
		if _, err := pool.Exec(ctx, "INSERT INTO bare VALUES ($1, $2)", id, notes[id%len(notes)].text); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *selects) run(ctx context.Context, atLeast time.Duration) (measure, error) {
	return callAll(ctx, teamSize, atLeast, func(ctx context.Context, caller, i int) error {
		id := (caller*s.rows/teamSize + i) % s.rows
		var text string
		// pgx prepares a statement when it is first used on a connection, and keeps it.
		err := s.pool.QueryRow(ctx, "SELECT text FROM bare WHERE id = $1", id).Scan(&text)
		if err == nil && len(text) < noteBytes {
			err = fmt.Errorf("row %d has %d bytes", id, len(text))
		}
		return err
	})
}
