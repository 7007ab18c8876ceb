package pgstore

import (
	"context"
	"embed"
	"fmt"

	"memento"
	"memento/backend"
	"memento/internal/migrations"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The schema is made by numbered scripts and a short runner, as in sqlitestore. A migration
// library would do the same with much more code.

//go:embed migrations/*.sql
var scriptFiles embed.FS

const minServer = 130000 // the first with pg_current_xact_id

// prepare checks the server, and brings the schema up to date.
func (b *Backend) prepare(ctx context.Context, existing bool) error {
	return b.retry(ctx, func(ctx context.Context) error {
		return b.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
			if err := b.inspect(ctx, c.Conn()); err != nil {
				return err
			}
			return b.migrate(ctx, c.Conn(), existing)
		})
	})
}

func (b *Backend) inspect(ctx context.Context, c *pgx.Conn) error {
	var version int
	var encoding string
	err := c.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_encoding')`).Scan(&version, &encoding)
	switch {
	case err != nil:
		return err
	case version < minServer:
		return fmt.Errorf("%w: the server is PostgreSQL %d; 13 or newer is required", memento.ErrFormat, version/10000)
	case encoding != "UTF8":
		return fmt.Errorf("%w: the database's encoding is %s; create a database with ENCODING 'UTF8' TEMPLATE template0", memento.ErrFormat, encoding)
	}
	b.server, err = newServer(ctx, c)
	return err
}

// migrate creates the schema or brings it up to date. If the schema is up to date, nothing
// is written, so a role with read-only access can use it.
func (b *Backend) migrate(ctx context.Context, c *pgx.Conn, existing bool) error {
	scripts, err := migrations.Scripts(scriptFiles)
	if err != nil {
		return err
	}
	for {
		version, err := b.schemaVersion(ctx, c)
		switch {
		case err != nil:
			return err
		case version > len(scripts):
			return &backend.NewerFormatError{What: "the schema", Format: version, Highest: len(scripts)}
		case version == len(scripts):
			return nil
		case version == 0 && existing:
			return &memento.Error{Op: "open database", Err: fmt.Errorf("%w: the schema does not exist in the database", memento.ErrNotExist)}
		}
		if err := b.runNextScript(ctx, c, scripts); err != nil {
			return err
		}
	}
}

// schemaVersion returns the version of the schema; 0 if it does not exist yet.
func (b *Backend) schemaVersion(ctx context.Context, c *pgx.Conn) (version int, err error) {
	var ours bool
	var tables int
	err = c.QueryRow(ctx, `SELECT
			EXISTS (SELECT 1 FROM pg_class r JOIN pg_attribute a ON a.attrelid = r.oid
				WHERE r.relnamespace = n.oid AND r.relname = 'schema_version' AND a.attname = 'memento_version'),
			(SELECT count(*) FROM pg_class r WHERE r.relnamespace = n.oid AND r.relkind IN ('r', 'p', 'v', 'm', 'f'))
		FROM pg_namespace n WHERE n.nspname = $1`, b.schema).Scan(&ours, &tables)
	switch {
	case noRows(err):
		return 0, nil
	case err != nil:
		return 0, err
	case ours:
		err = c.QueryRow(ctx, b.sql(`SELECT coalesce(max(memento_version), 0) FROM memento.schema_version`)).Scan(&version)
		return version, err
	case tables > 0:
		return 0, fmt.Errorf("%w: the schema contains tables of another program; choose another schema", memento.ErrFormat)
	}
	return 0, nil
}

// runNextScript runs the next script, unless another server has run it in the meantime.
func (b *Backend) runNextScript(ctx context.Context, c *pgx.Conn, scripts []string) error {
	return pgx.BeginTxFunc(ctx, c, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(t pgx.Tx) error {
		if _, err := t.Exec(ctx, `SELECT pg_advisory_xact_lock($1, hashtext($2))`, migrationLock, b.schema); err != nil {
			return err
		}
		version, err := b.schemaVersion(ctx, c)
		if err != nil || version >= len(scripts) {
			return err
		}
		name := pgx.Identifier{b.schema}.Sanitize()
		script := `SET LOCAL search_path TO ` + name + `, pg_catalog;` + scripts[version]
		if version == 0 {
			var exists bool // CREATE SCHEMA IF NOT EXISTS needs the privilege even if the schema exists
			if err := t.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)`, b.schema).Scan(&exists); err != nil {
				return err
			}
			script = `SET LOCAL search_path TO ` + name + `, pg_catalog;
				CREATE TABLE schema_version (memento_version integer PRIMARY KEY, made_at timestamptz NOT NULL DEFAULT now());` + scripts[version]
			if !exists {
				script = `CREATE SCHEMA ` + name + `;` + script
			}
		}
		if _, err := c.PgConn().Exec(ctx, script).ReadAll(); err != nil {
			return err
		}
		_, err = t.Exec(ctx, b.sql(`INSERT INTO memento.schema_version (memento_version) VALUES ($1)`), version+1)
		return err
	})
}

// migrationLock is the first half of the advisory lock for migrations: "mmto". The second
// half depends on the schema.
const migrationLock int32 = 0x6d6d746f
