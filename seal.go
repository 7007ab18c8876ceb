package memento

// A Sealed is a [Put], a [Remove] or a [Move] whose contents the backend must not
// be able to read: what it keeps of them is By's to say. Wrappers such as
// cryptstore make them.
//
// The rules are those of the change within, and its contents, sizes and hashes
// are in clear: limits count what users wrote. Its paths are those that the
// backend keeps.
//
// A version that is imported has one as Version.Sealed, without a change, if its
// contents are sealed already.
type Sealed struct {
	Change Change
	By     Sealer

	// Envelope is the one with the keys that By uses. If the store has another by
	// now, the change, or the import, is refused with ErrConflict.
	Envelope string
}

func (Sealed) isChange() {}

// outdated reports whether the store, whose envelope is given, has other keys by now.
func (s *Sealed) hasOldKeys(envelope string) bool {
	return s.Envelope != "" && envelope != "" && s.Envelope != envelope
}

// A Sealer makes what a backend keeps of the contents of one store. [Planner] asks
// it, once a change is found to be in order; of what is imported, about paths only.
type Sealer interface {
	// Seal returns what is kept in place of a text that a version writes to a
	// memory. It must be valid UTF-8. The text is sealed again whenever another
	// version writes it.
	Seal(memory MemoryID, version VersionID, text string) (string, error)

	// Digest returns what stands for the hash of a text, which is in the form of
	// Memory.SHA256: the same for the same hash. It becomes Memory.Digest.
	Digest(sha256 string) string

	// Clear returns the path that users know, of one that the backend keeps. Rules
	// and limits of paths are about that one.
	Clear(p Path) (Path, error)
}

// hashOf returns what is compared to find out whether contents are the same.
func (m *Memory) contentHash() string {
	if m.Digest != "" {
		return m.Digest
	}
	return m.SHA256
}
