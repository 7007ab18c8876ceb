package backend

import (
	"context"

	"memento"
)

// A Sealed is a [memento.Put], a [memento.Remove] or a [memento.Move] whose contents the backend must not be able
// to read: By returns what the backend stores instead. Wrappers such as cryptstore make
// them.
//
// The contents, sizes and hashes of the change are plaintext, and limits count the
// plaintext. Its paths are those that the backend stores.
type Sealed struct {
	memento.Change
	Sealing
}

// A Sealing says how the contents of a store are sealed.
type Sealing struct {
	By Sealer

	// Envelope is the store's envelope with the keys that By uses. If the store has
	// another one by now, the change or the import is refused with ErrConflict.
	Envelope string
}

// hasOldKeys reports whether the store, which has the given envelope, has other keys now.
func (s *Sealing) hasOldKeys(envelope string) bool {
	return s.Envelope != "" && envelope != "" && s.Envelope != envelope
}

// A SealedImporter is a [memento.Backend] that can import versions whose contents are sealed
// already. Backends that also accept [Sealed] changes can be wrapped by cryptstore.
type SealedImporter interface {
	// ImportSealed is [memento.Memories.Import] of versions that are sealed: SHA256 is the hash
	// of the sealed Content, Digest represents the hash of the plaintext, and Size is its
	// size. Paths are those that the backend stores.
	//
	// Errors: those of Import; ErrConflict if the store has other keys by now.
	ImportSealed(ctx context.Context, store memento.StoreID, versions []memento.Version, by Sealing) error
}

// A Sealer encrypts the contents of one store for a backend. [Planner] calls it after a
// change has passed all checks; for imports, it only calls Clear.
type Sealer interface {
	// Seal returns the text to store instead of text, which a version writes to a
	// memory. The result is valid UTF-8. The same text is sealed again for each version.
	Seal(memory memento.MemoryID, version memento.VersionID, text string) (string, error)

	// Digest returns a value that represents the hash of a text, which is in the form
	// of Memory.SHA256: the same for the same hash. It is stored as Memory.Digest.
	Digest(sha256 string) string

	// Clear returns the plaintext path of a path that the backend stores. Rules and
	// limits apply to plaintext paths.
	Clear(p memento.Path) (memento.Path, error)
}
