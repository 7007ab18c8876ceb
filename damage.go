package memento

import (
	"context"
	"errors"
	"fmt"
)

// A DamageError says that stored contents are not those that were written. They are not
// returned. It is [ErrDamaged].
type DamageError struct {
	Memory  MemoryID
	Version VersionID // whose contents are damaged

	// Whole is the newest version of the memory whose contents can still be read; ""
	// if there is none, or if it was not searched for. See [LastWhole].
	Whole VersionID
}

func (e *DamageError) Error() string {
	text := fmt.Sprintf("memory %s %v: the contents of version %s do not match their hash", e.Memory, ErrDamaged, e.Version)
	if e.Whole != "" {
		text += fmt.Sprintf("; the newest undamaged version is %s", e.Whole)
	}
	return text
}

func (e *DamageError) Unwrap() error { return ErrDamaged }

// CheckContent checks contents that a backend has read from its medium, or received,
// against their stored hash and size. The size of sealed contents is not checked, since
// the stored size is that of the plaintext.
//
// Errors: a DamageError, in an Error with the memory's path.
func (m *Memory) CheckContent(op string) error {
	if isWhole(m.Content, m.SHA256, m.Digest, m.Size) {
		return nil
	}
	return &Error{Op: op, Path: m.Path, Err: &DamageError{Memory: m.ID, Version: m.Version}}
}

// CheckContent is [Memory.CheckContent] for a version. A deletion, and a version that
// was redacted, must have neither contents nor a hash.
func (v *Version) CheckContent(op string) error {
	if v.Redacted() || v.Operation == Deleted {
		if v.Content == "" && v.SHA256 == "" && v.Size == 0 {
			return nil
		}
	} else if isWhole(v.Content, v.SHA256, v.Digest, v.Size) {
		return nil
	}
	return &Error{Op: op, Path: v.Path, Err: &DamageError{Memory: v.Memory, Version: v.ID}}
}

func isWhole(content, hash, digest string, size int64) bool {
	return (digest != "" || int64(len(content)) == size) && HashContent(content) == hash
}

// maxWholeTried bounds how many versions [LastWhole] reads: most histories are shorter,
// and a medium with so many damaged versions needs another repair.
const maxWholeTried = 256

// LastWhole returns the newest version of a memory whose contents can still be read,
// as far as it is among the memory's newest 256; "" if there is none.
//
// Errors: those of [History], except ErrDamaged and ErrDecrypt of a version that it
// looks at.
func LastWhole(ctx context.Context, b History, store StoreID, memory MemoryID) (VersionID, error) {
	var candidates []VersionID
	for v, err := range b.ListVersions(ctx, store, VersionListOptions{Memory: memory, Limit: maxWholeTried}) {
		if err != nil {
			return "", err
		}
		if !v.Redacted() && v.Operation != Deleted {
			candidates = append(candidates, v.ID)
		}
	}
	for _, id := range candidates {
		switch v, err := b.GetVersion(ctx, store, id); {
		case err == nil && !v.Redacted():
			return id, nil
		case err == nil, errors.Is(err, ErrDamaged), errors.Is(err, ErrDecrypt), errors.Is(err, ErrNotExist):
		default:
			return "", err
		}
	}
	return "", nil
}

// Stat returns a memory without its contents, also if they are damaged. It does not count
// as use.
//
// Errors: ErrInvalidPath, ErrNotExist, ErrIsDir.
func (s *Store) Stat(ctx context.Context, ref Ref) (Memory, error) {
	m, err := s.Peek(ctx, ref)
	m.Content = ""
	var at *Error
	if !errors.Is(err, ErrDamaged) || !errors.As(err, &at) || at.Path == "" {
		return m, err
	}
	for e, listErr := range s.List(ctx, ListOptions{Dir: at.Path.Parent(), Depth: 1}) {
		switch {
		case listErr != nil:
			return Memory{}, listErr
		case e.Path == at.Path && !e.Dir:
			return e.Memory, nil
		}
	}
	return Memory{}, err
}

// completeDamage adds the newest intact version to a DamageError.
func (s *Store) completeDamage(ctx context.Context, err error) error {
	var d *DamageError
	id := s.id.Load()
	if err == nil || id == nil || !errors.As(err, &d) || d.Memory == "" || d.Whole != "" {
		return err
	}
	whole, lookErr := LastWhole(ctx, s.backend, *id, d.Memory)
	if lookErr != nil || whole == "" {
		return err
	}
	complete := &DamageError{Memory: d.Memory, Version: d.Version, Whole: whole}
	var at *Error
	if errors.As(err, &at) {
		return &Error{Op: at.Op, Path: at.Path, Err: complete}
	}
	return complete
}
