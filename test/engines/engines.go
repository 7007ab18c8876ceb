// Package engines opens every storage engine, empty, for tests of what works on all of them.
package engines

import (
	"crypto/rand"
	"path/filepath"
	"strings"
	"testing"

	"memento"
	"memento/backend/cryptstore"
	"memento/backend/dirstore"
	"memento/backend/memstore"
	"memento/backend/pgstore"
	"memento/backend/s3store"
	"memento/backend/sqlitestore"
	"memento/test/needs"
	"memento/test/services"
)

// An Engine makes an empty backend, which is closed at the end of the test. If its server is
// not installed, the test is left out: see package needs.
type Engine func(t testing.TB) memento.Backend

// All returns the engines by name, without encryption.
func All() map[string]Engine {
	return map[string]Engine{"mem": Memory, "sqlite": SQLite, "dir": Folder, "postgres": Postgres, "s3": S3}
}

// AndEncrypted returns those of All, and encrypted ones: those that can be encrypted.
func AndEncrypted() map[string]Engine {
	all := All()
	for name, engine := range All() {
		if name != "dir" { // a person can read it
			all["encrypted "+name] = Encrypted(engine)
		}
	}
	return all
}

// Memory has its data in main memory.
func Memory(t testing.TB) memento.Backend { return opened(t, memstore.New(nil), nil) }

// SQLite has its data in a file.
func SQLite(t testing.TB) memento.Backend {
	b, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "m.db"), nil)
	return opened(t, b, err)
}

// Folder has its data in plain files.
func Folder(t testing.TB) memento.Backend {
	b, err := dirstore.Open(t.Context(), filepath.Join(t.TempDir(), "folder"), nil)
	return opened(t, b, err)
}

// Postgres has its data in a schema of its own.
func Postgres(t testing.TB) memento.Backend {
	url, err := services.Postgres(t.Context())
	needs.Check(t, err)
	b, err := pgstore.Open(t.Context(), url, &pgstore.Options{Schema: "test_" + strings.ToLower(rand.Text()), MaxConns: 4})
	return opened(t, b, err)
}

// S3 has its data below a prefix of its own. It sets the environment of the test.
func S3(t testing.TB) memento.Backend {
	s, err := services.S3(t.Context())
	needs.Check(t, err)
	t.Setenv("AWS_ACCESS_KEY_ID", s.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s.SecretKey)
	b, err := s3store.Open(t.Context(), s3store.Location{
		Bucket: "memento-engines", Prefix: strings.ToLower(rand.Text()), Endpoint: s.Endpoint, Region: s.Region, PathStyle: "true",
	}, &s3store.Options{MakeBucket: true})
	return opened(t, b, err)
}

// Encrypted returns an engine whose contents and names are encrypted.
func Encrypted(inner Engine) Engine {
	return func(t testing.TB) memento.Backend {
		b := inner(t)
		keys, err := cryptstore.NewKeys()
		if err != nil {
			t.Fatal(err)
		}
		wrapped, err := cryptstore.Wrap(t.Context(), b, keys, &cryptstore.Options{EncryptNames: true})
		if err != nil {
			t.Fatal(err)
		}
		return wrapped // it has nothing of its own to close
	}
}

func opened[B memento.Backend](t testing.TB, b B, err error) memento.Backend {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}
