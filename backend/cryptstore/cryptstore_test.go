package cryptstore_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"memento"
	"memento/backend/cryptstore"
	"memento/backend/dirstore"
	"memento/backend/memstore"
	"memento/backend/pgstore"
	"memento/backend/s3store"
	"memento/backend/sqlitestore"
	"memento/backend/storetest"
	"memento/test/needs"
	"memento/test/services"
)

// A kind is a backend to be encrypted.
type kind struct {
	name  string
	open  func(ctx context.Context, dir string) (memento.Backend, error)
	names bool // whether names are encrypted

	elsewhere bool     // whether it keeps its data on a server
	files     []string // that it keeps its data in
	powers
}

type powers struct{ reopens, reads, keys, backup, leaser bool }

var kinds = []kind{
	{name: "memstore", open: func(context.Context, string) (memento.Backend, error) { return memstore.New(nil), nil },
		powers: powers{reads: true, keys: true, leaser: true}},
	{name: "sqlitestore", open: openSQLite, files: []string{"memento.db"}, powers: powers{reopens: true, reads: true, keys: true, backup: true}},
	{name: "dirstore", open: openFolder, files: []string{"folder/.memento/books.db"}, powers: powers{reopens: true, reads: true, keys: true, backup: true}},
	{name: "pgstore", open: openPostgres, elsewhere: true, powers: powers{reopens: true, reads: true, keys: true, leaser: true}},
	{name: "s3store", open: openS3, elsewhere: true, powers: powers{reopens: true, reads: true, keys: true, leaser: true}},
	{name: "memstore with names", names: true, open: func(context.Context, string) (memento.Backend, error) { return memstore.New(nil), nil },
		powers: powers{reads: true, keys: true, leaser: true}},
	{name: "dirstore with names", names: true, open: openFolder, files: []string{"folder/.memento/books.db"}, powers: powers{reopens: true, reads: true, keys: true, backup: true}},
	{name: "sqlitestore with names", names: true, open: openSQLite, files: []string{"memento.db"}, powers: powers{reopens: true, reads: true, keys: true, backup: true}},
}

func kindNamed(name string) kind {
	for _, k := range kinds {
		if k.name == name {
			return k
		}
	}
	panic("no kind of backend is named " + name)
}

func openSQLite(ctx context.Context, dir string) (memento.Backend, error) {
	return sqlitestore.Open(ctx, filepath.Join(dir, "memento.db"), nil)
}

// openS3 uses a prefix for each directory.
func openS3(ctx context.Context, dir string) (memento.Backend, error) {
	srv, err := services.S3(ctx)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(dir))
	at := s3store.Location{Bucket: "memento-cryptstore", Prefix: hex.EncodeToString(sum[:10]), Endpoint: srv.Endpoint, Region: srv.Region, PathStyle: "true"}
	return s3store.Open(ctx, at, &s3store.Options{MakeBucket: true})
}

// noServers is why the kinds that keep their data elsewhere are left out, nil if
// they are not.
var noServers error

// need leaves the test out if a server of the kind is missing.
func (k kind) need(t *testing.T) {
	t.Helper()
	if k.elsewhere {
		needs.Check(t, noServers)
	}
}

// startServers starts what the kinds need, and puts into the environment what they
// look for there.
func startServers(ctx context.Context) (stop func(), err error) {
	if stop, err = services.Together(services.ForPostgres, services.ForS3)(ctx); needs.LeftOut(err) {
		noServers = err
		return func() {}, nil
	} else if err != nil {
		return nil, err
	}
	srv, err := services.S3(ctx)
	if err == nil {
		err = errors.Join(os.Setenv("AWS_ACCESS_KEY_ID", srv.AccessKey), os.Setenv("AWS_SECRET_ACCESS_KEY", srv.SecretKey))
	}
	if err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// openPostgres uses a schema for each directory.
func openPostgres(ctx context.Context, dir string) (memento.Backend, error) {
	sum := sha256.Sum256([]byte(dir))
	return pgstore.Open(ctx, os.Getenv(services.PostgresVariable), &pgstore.Options{Schema: "crypt_" + hex.EncodeToString(sum[:10])})
}

func openFolder(ctx context.Context, dir string) (memento.Backend, error) {
	return dirstore.Open(ctx, filepath.Join(dir, "folder"), nil)
}

// wrapped opens the backend in dir with encryption. The keys are in a file beside it.
func (k kind) wrapped(ctx context.Context, dir string) (memento.Backend, error) {
	file := filepath.Join(dir, "keys.json")
	ring, err := cryptstore.OpenKeyFile(file)
	if errors.Is(err, fs.ErrNotExist) { // the first to open it
		if err := os.WriteFile(filepath.Join(dir, "kind"), []byte(k.name), 0o600); err != nil {
			return nil, err
		}
		ring, err = cryptstore.NewKeyFile(file)
	}
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	inner, err := k.open(ctx, data)
	if err != nil {
		return nil, err
	}
	b, err := cryptstore.Wrap(ctx, inner, ring, &cryptstore.Options{EncryptNames: k.names})
	if err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	return b, nil
}

func (k kind) harness() storetest.Harness {
	h := storetest.Harness{
		Open: k.wrapped, Persistent: k.reopens, Shared: k.reopens,
		Searcher: true, WorkspaceLister: true, EncryptedNames: k.names,
		ReadMarker: k.reads, KeyKeeper: k.keys, BackupWriter: k.backup, Leaser: k.leaser,
		SearchScans: true, SealedPrefix: func(v memento.Version) []byte { return []byte("memento-sealed:1:" + v.ID + ":") },
		Clock: true, NoteKeeper: true, PositionLister: true, // or they say that they are not supported
	}
	if k.files != nil {
		h.Blobs = func(_ context.Context, dir string) ([]storetest.Blob, error) {
			paths := make([]string, len(k.files))
			for i, name := range k.files {
				paths[i] = filepath.Join(dir, "data", filepath.FromSlash(name))
			}
			return storetest.FileBlobs(paths...)
		}
	}
	return h
}

// Other processes open what the kind that is noted beside it says.
func TestMain(m *testing.M) {
	storetest.Main(m, storetest.Harness{Start: startServers, Open: func(ctx context.Context, dir string) (memento.Backend, error) {
		name, err := os.ReadFile(filepath.Join(dir, "kind"))
		if err != nil {
			return nil, err
		}
		return kindNamed(string(name)).wrapped(ctx, dir)
	}})
}

func BenchmarkBackend(b *testing.B) {
	for _, k := range kinds {
		b.Run(k.name, func(b *testing.B) { storetest.Benchmark(b, k.harness()) })
	}
}

func TestOverMemstore(t *testing.T)    { storetest.Run(t, kindNamed("memstore").harness()) }
func TestOverSQLitestore(t *testing.T) { storetest.Run(t, kindNamed("sqlitestore").harness()) }
func TestOverPgstore(t *testing.T) {
	k := kindNamed("pgstore")
	k.need(t)
	storetest.Run(t, k.harness())
}
func TestOverS3store(t *testing.T) {
	k := kindNamed("s3store")
	k.need(t)
	storetest.Run(t, k.harness())
}
func TestOverDirstore(t *testing.T) { storetest.Run(t, kindNamed("dirstore").harness()) }

func TestNamesOverMemstore(t *testing.T) {
	storetest.Run(t, kindNamed("memstore with names").harness())
}
func TestNamesOverSQLitestore(t *testing.T) {
	storetest.Run(t, kindNamed("sqlitestore with names").harness())
}
