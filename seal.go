package memento

// A Sealed is a [Put], a [Remove] or a [Move] whose contents the backend must not be able
// to read: By returns what the backend stores instead. Wrappers such as cryptstore make
// them.
//
// The contents, sizes and hashes of the change are plaintext, and limits count the
// plaintext. Its paths are those that the backend stores.
//
// An imported version has a Sealed without a change as Version.Sealed if its contents are
// sealed already.
type Sealed struct {
	Change Change
	By     Sealer

	// Envelope is the store's envelope with the keys that By uses. If the store has
	// another one by now, the change or the import is refused with ErrConflict.
	Envelope string
}

func (Sealed) isChange() {}

// hasOldKeys reports whether the store, which has the given envelope, has other keys now.
func (s *Sealed) hasOldKeys(envelope string) bool {
	return s.Envelope != "" && envelope != "" && s.Envelope != envelope
}

// A Sealer encrypts the contents of one store for a backend. [Planner] calls it after a
// change has passed all checks; for imports, it only calls Clear.
type Sealer interface {
	// Seal returns the text to store instead of text, which a version writes to a
	// memory. The result is valid UTF-8. The same text is sealed again for each version.
	Seal(memory MemoryID, version VersionID, text string) (string, error)

	// Digest returns a value that represents the hash of a text, which is in the form
	// of Memory.SHA256: the same for the same hash. It is stored as Memory.Digest.
	Digest(sha256 string) string

	// Clear returns the plaintext path of a path that the backend stores. Rules and
	// limits apply to plaintext paths.
	Clear(p Path) (Path, error)
}

// contentHash returns the value that is equal for equal contents.
func (m *Memory) contentHash() string {
	if m.Digest != "" {
		return m.Digest
	}
	return m.SHA256
}
