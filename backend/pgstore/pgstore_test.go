package pgstore_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"memento"
	"memento/backend/pgstore"
	"memento/backend/storetest"
	"memento/test/services"

	"github.com/jackc/pgx/v5"
)

func harness() storetest.Harness {
	return storetest.Harness{
		Open: func(ctx context.Context, dir string) (memento.Backend, error) {
			return pgstore.Open(ctx, os.Getenv(services.PostgresVariable), &pgstore.Options{Schema: schemaOf(dir)})
		},
		Persistent:    true,
		Shared:        true,
		AcceptsSealed: true,
		Searcher:      true,
		ReadMarker:    true,
		KeyKeeper:     true,

		WorkspaceLister: true,
		Leaser:          true,
		Clock:           true,
		NoteKeeper:      true,
		PositionLister:  true,
		VectorKeeper:    true,

		Start: start,
		Blobs: blobs,
	}
}

// schemasVariable names what the schemas of this process, and of the processes it
// starts, have in common.
const schemasVariable = "MEMENTO_TEST_SCHEMAS"

// schemaOf returns the schema for the directory dir of a test.
func schemaOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return os.Getenv(schemasVariable) + hex.EncodeToString(sum[:10])
}

// start finds a server, which others may use, too: what the tests make in it is
// removed in the end.
func start(ctx context.Context) (stop func(), err error) {
	end, err := services.ForPostgres(ctx)
	if err != nil {
		return nil, err
	}
	schemas := "test_" + strings.ToLower(rand.Text()[:8]) + "_"
	os.Setenv(schemasVariable, schemas)
	return func() {
		if err := removeSchemas(ctx, schemas); err != nil {
			fmt.Fprintln(os.Stderr, "remove the schemas of the tests:", err)
		}
		end()
	}, nil
}

func removeSchemas(ctx context.Context, prefix string) error {
	c, err := pgx.Connect(ctx, os.Getenv(services.PostgresVariable))
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	rows, err := c.Query(ctx, `SELECT nspname FROM pg_namespace WHERE nspname LIKE '%' || $1 || '%'`, prefix)
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, name := range names { // one by one: a transaction has only so many locks
		if _, dropErr := c.Exec(ctx, `SET client_min_messages = warning; DROP SCHEMA `+pgx.Identifier{name}.Sanitize()+` CASCADE`, pgx.QueryExecModeSimpleProtocol); err == nil {
			err = dropErr
		}
	}
	return err
}

func TestMain(m *testing.M)         { storetest.Main(m, harness()) }
func TestBackend(t *testing.T)      { storetest.Run(t, harness()) }
func BenchmarkBackend(b *testing.B) { storetest.Benchmark(b, harness()) }
