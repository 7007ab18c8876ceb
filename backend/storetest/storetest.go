// Package storetest is the contract of [memento.Backend] as tests and
// benchmarks. A backend's tests hand it a [Harness]:
//
//	func harness() storetest.Harness {
//		return storetest.Harness{Open: open, Persistent: true, Shared: true, Searcher: true}
//	}
//
//	func TestMain(m *testing.M)         { storetest.Main(m, harness()) }
//	func TestBackend(t *testing.T)      { storetest.Run(t, harness()) }
//	func BenchmarkBackend(b *testing.B) { storetest.Benchmark(b, harness()) }
//
// Every subtest has a backend of its own. When it ends, the store it used is
// audited: usage, hashes, history and memories must explain one another.
package storetest

import (
	"context"
	"testing"
	"time"

	"memento"
)

// A Harness describes a backend: how to open it, and what it promises beyond the
// contract that all backends keep.
type Harness struct {
	// Open returns a backend over the data in dir, a directory that is empty at
	// first. A backend with its data elsewhere keeps the data of different dirs
	// apart. The suite closes what it opened.
	Open func(ctx context.Context, dir string) (memento.Backend, error)

	// OpenAt is Open with a clock for the times of versions; nil if those come from
	// the storage or a server.
	OpenAt func(ctx context.Context, dir string, now func() time.Time) (memento.Backend, error)

	// Start, if not nil, starts the server that the backend needs, such as a
	// database, and returns a function that stops it. Main calls Start once before
	// the tests and stop after them. Start publishes the server's address in the
	// environment, where child processes of the tests find it. If it fails because
	// the server is not installed (see package test/needs), Main runs no tests.
	Start func(context.Context) (stop func(), err error)

	// Persistent promises that a later handle of the same dir reads what an earlier
	// one wrote.
	Persistent bool

	// Shared promises that several handles of the same dir can be open at once, in
	// one process and in many, and that a process may die at any time. It needs
	// Persistent, and Main as the TestMain.
	Shared bool

	// AcceptsSealed promises to store contents and envelopes sealed by a wrapper. Every
	// backend that stores contents itself does. One that does not refuses sealed changes.
	AcceptsSealed bool

	// EncryptedNames admits that paths can be only about half as long as the rules
	// allow, because the backend encrypts the names in them.
	EncryptedNames bool

	// Blobs returns the stored data of dir, while no backend has it open, so that
	// tests can damage it; nil if there is none, or none that can be reached. The data
	// holds contents as they were written, except as SealedPrefix says.
	Blobs func(ctx context.Context, dir string) ([]Blob, error)

	// SealedPrefix returns the bytes that the stored contents of a version begin with,
	// and those of no other version; nil if contents are stored as they were written.
	SealedPrefix func(memento.Version) []byte

	// HexHashes says that Blobs hold hashes as hexadecimal digits instead of bytes.
	HexHashes bool

	// SearchScans admits that a search reads the contents of memories that do not
	// match, and so fails if these are damaged.
	SearchScans bool

	// Remote admits that the backend is a client of a server. For an actor without a
	// key the server records the key of the connection, and it refuses kinds of actors
	// that it does not know.
	Remote bool

	// Searcher and the fields below promise the optional interfaces of these names.
	// The backend must have exactly those that are promised.
	Searcher        bool
	ReadMarker      bool
	KeyKeeper       bool
	BackupWriter    bool
	WorkspaceLister bool
	Leaser          bool
	Clock           bool
	NoteKeeper      bool
	PositionLister  bool
	VectorKeeper    bool
}

// Run tests a backend.
func Run(t *testing.T, h Harness) {
	t.Run("crash", func(t *testing.T) { crash(t, h) }) // alone: the others run in parallel, once this one is done

	t.Run("catalogue", func(t *testing.T) { catalogue(t, h) })
	t.Run("documents", func(t *testing.T) { documents(t, h) })
	t.Run("contents", func(t *testing.T) { contents(t, h) })
	t.Run("conditions", func(t *testing.T) { conditions(t, h) })
	t.Run("move with contents", func(t *testing.T) { moveContent(t, h) })
	t.Run("paths", func(t *testing.T) { paths(t, h) })
	t.Run("hostile", func(t *testing.T) { hostile(t, h) })
	t.Run("listing", func(t *testing.T) { listing(t, h) })
	t.Run("limits", func(t *testing.T) { limits(t, h) })
	t.Run("history", func(t *testing.T) { versionHistory(t, h) })
	t.Run("redaction", func(t *testing.T) { redaction(t, h) })
	t.Run("pruning", func(t *testing.T) { pruning(t, h) })
	t.Run("settings", func(t *testing.T) { settings(t, h) })
	t.Run("undo", func(t *testing.T) { undo(t, h) })
	t.Run("importing", func(t *testing.T) { importing(t, h) })
	t.Run("sealing", func(t *testing.T) { sealing(t, h) })
	t.Run("powers", func(t *testing.T) { powers(t, h) })
	t.Run("clocks", func(t *testing.T) { clocks(t, h) })
	t.Run("search", func(t *testing.T) { search(t, h) })
	t.Run("keys", func(t *testing.T) { keys(t, h) })
	t.Run("vectors", func(t *testing.T) { vectors(t, h) })
	t.Run("damage", func(t *testing.T) { damage(t, h) })
	t.Run("lifetime", func(t *testing.T) { lifetime(t, h) })
	t.Run("concurrency", func(t *testing.T) { concurrency(t, h) })
	t.Run("linear", func(t *testing.T) { linear(t, h) })
	t.Run("model", func(t *testing.T) { model(t, h) })
}

// run runs one test in parallel with its siblings, on a store of its own.
func (h Harness) run(t *testing.T, name string, test func(e *env)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		e := newEnv(t, h)
		test(e)
		if !t.Failed() {
			e.audit()
		}
	})
}
