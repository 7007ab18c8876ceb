package memento

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"memento/internal/lines"
)

// A Receipt says what a write did.
type Receipt struct {
	Applied
	Masked []FindingLocation // secrets that were masked before the write, by the Store and by the backend
	Marked []FindingLocation // text that addresses the model, as the settings ask to mark it

	texts []maskedText // the contents written, in order
}

// Apply makes the changes atomically; see [Memories.Apply]. It creates a store that was
// opened by name. Contents are masked first, as the store's settings say. When Apply
// returns without an error, the backend has made the changes durable: the comment of its
// package says how.
//
// Further errors: ErrSensitive, ErrNoDetector; ErrInvalid for a session whose ID does not
// pass [CheckSessionID].
func (s *Store) Apply(ctx context.Context, by Actor, changes ...Change) (Receipt, error) {
	if err := by.check(); err != nil {
		return Receipt{}, &Error{Op: "apply", Err: err}
	}
	for {
		var r Receipt
		masked, err := s.maskChanges(ctx, changes, &r)
		if err != nil {
			if s.settingsChanged(ctx, err) {
				continue
			}
			return Receipt{}, err
		}
		id, err := s.Ensure(ctx)
		if err != nil {
			return Receipt{}, err
		}
		start := time.Now()
		r.Applied, err = s.backend.Apply(ctx, id, by, masked)
		s.observed(ctx, Observation{Op: "apply", Store: id, Start: start, Err: err, Receipt: r})
		if errors.Is(err, ErrSettingsChanged) && ctx.Err() == nil {
			if _, err := s.loadSettings(ctx); err != nil {
				return Receipt{}, err
			}
			continue // mask by the settings that hold now
		}
		if err != nil {
			return Receipt{}, err
		}
		r.Masked = append(r.Masked, r.Applied.Masked...)
		for _, f := range r.Applied.Marked { // the Store may have found it, too
			if !slices.Contains(r.Marked, f) {
				r.Marked = append(r.Marked, f)
			}
		}
		s.cacheSettings(r.Limits, r.Settings)
		if r.Settings.Retention.None() {
			s.pruneReplaced(ctx, id, r.Versions)
		}
		return r, nil
	}
}

// pruneTimeout bounds the pruning after a write to a store without history.
const pruneTimeout = 30 * time.Second

// pruneReplaced removes the versions that were replaced by versions, in a store that
// keeps no history. Errors are ignored, since the write has succeeded: maintenance
// removes what is left.
func (s *Store) pruneReplaced(ctx context.Context, id StoreID, versions []Version) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pruneTimeout)
	defer cancel()
	const several = 20 // above this, one pass over all memories is faster
	opts := PruneOptions{Before: EndOfTime}
	if len(versions) > several {
		_, _ = s.prune(ctx, id, opts)
		return
	}
	for _, v := range versions {
		opts.Memory = v.Memory
		_, _ = s.prune(ctx, id, opts)
	}
}

// An Edited is the result of an Edit.
type Edited struct {
	Memory Memory // after the edit, with contents
	Receipt
}

// Edit replaces the contents of the memory at p by the result of change. If others write
// meanwhile, change is called again with their contents, so it must have no side
// effects. An error of change ends the edit and is returned as it is. Edits of one
// memory through one Store are made one after another.
//
// Errors: those of Get and of [Put], and of [Store.Apply].
func (s *Store) Edit(ctx context.Context, by Actor, p Path, change func(old string) (string, error)) (Edited, error) {
	unlock, err := s.LockEdits(ctx, p)
	if err != nil {
		return Edited{}, err
	}
	defer unlock()
	m, fromCache := s.getCached(p)
	for {
		if !fromCache {
			if m, err = s.Peek(ctx, ByPath(p)); err != nil {
				return Edited{}, err
			}
		}
		var edited Edited
		retry := false
		text, err := change(m.Content)
		if err == nil {
			edited, err = s.replace(ctx, by, m, text)
			retry = errors.Is(err, ErrConflict) // another process was faster
		}
		if fromCache { // the error may be due to the cached contents
			retry = err != nil && !errors.Is(err, ErrUncertain) && !errors.Is(err, ErrUnavailable)
		}
		if !retry || ctx.Err() != nil {
			return edited, err
		}
		fromCache = false
	}
}

// LockEdits makes [Store.Edit] and [Store.UpdateMemory] of the memory at p wait, if they
// are called on this Store, until unlock is called. It is for a program that reads a memory
// and then writes it in steps of its own. Other processes are not stopped, so each write
// needs a [Condition] all the same. The error is that of ctx.
func (s *Store) LockEdits(ctx context.Context, p Path) (unlock func(), err error) {
	return s.editLocks.Lock(ctx, p)
}

// replace writes text to m, on condition that m has not changed.
func (s *Store) replace(ctx context.Context, by Actor, m Memory, text string) (Edited, error) {
	r, err := s.Apply(ctx, by, Put{Path: m.Path, Content: text, If: IfVersion(m.Version)})
	if err != nil {
		return Edited{}, err
	}
	for _, v := range r.Versions {
		m.Version, m.SHA256, m.Size, m.UpdatedAt = v.ID, v.SHA256, v.Size, v.CreatedAt
	}
	m.Content = r.texts[0].text
	return Edited{m, r}, nil
}

// getCached returns the memory at p as the backend saw it last, if the backend has it in
// memory.
func (s *Store) getCached(p Path) (m Memory, known bool) {
	id := s.id.Load()
	if s.cachedReader == nil || id == nil {
		return m, false
	}
	return s.cachedReader.GetCached(*id, ByPath(p))
}

// offsetAfter returns the offset in the contents that were written, after masking, of an
// offset in the result of the change.
func (e *Edited) offsetAfter(at int) int { return e.texts[0].offsetAfter(at) }

// Import appends versions to the store as they are; see [Memories.Import]. It creates a
// store that was opened by name. Secrets in the contents are masked, and their locations
// are returned, together with those of what the settings ask to mark: see
// [FindingLocation.IsInstruction]. The slice versions is not modified.
//
// Further errors: ErrSensitive, also for a path with secrets, since paths cannot be
// masked; ErrNoDetector.
func (s *Store) Import(ctx context.Context, versions []Version) ([]FindingLocation, error) {
	// Load the settings, because an import does not compare them later.
	if _, err := s.loadSettings(ctx); err != nil {
		return nil, err
	}
	k, err := s.currentSettings(ctx)
	if err != nil {
		return nil, err
	}
	// Masking takes long, so what is refused in any case is refused before.
	if err := k.checkVersions(versions); err != nil {
		return nil, err
	}
	for i := range versions {
		if err := s.checkVersion(ctx, k, &versions[i]); err != nil {
			return nil, fmt.Errorf("version %s: %w", versions[i].ID, err)
		}
	}
	var replaced, marked []FindingLocation
	masked := slices.Clone(versions)
	for i := range masked {
		v := &masked[i]
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		g, err := k.masker.maskPut(v.Path, v.Content)
		if err != nil {
			return nil, fmt.Errorf("version %s: %w", v.ID, err)
		}
		if len(g.locations) > 0 && v.SHA256 == HashContent(v.Content) {
			v.Content, v.SHA256, v.Size = g.text, HashContent(g.text), int64(len(g.text))
			replaced = append(replaced, g.locations...)
		}
		marked = append(marked, g.marked...)
	}
	id, err := s.Ensure(ctx)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	err = s.backend.Import(ctx, id, masked)
	s.observed(ctx, Observation{Op: "import", Store: id, Start: start, Err: err, Receipt: Receipt{Masked: replaced, Marked: marked}})
	if err != nil {
		return nil, err
	}
	if k.noHistory {
		s.pruneReplaced(ctx, id, masked)
	}
	if s.marker != nil { // an import counts as a use, so that old memories do not expire at once
		for i := range masked {
			s.marker.MarkRead(id, masked[i].Memory)
		}
	}
	return append(replaced, marked...), nil
}

// The following methods are for front ends that name memories by their IDs, as the
// Memory Stores API does.

// CreateMemory creates a memory.
//
// Errors: those of [Put] with IfAbsent: Error.Path names the memory, or the
// directory, that is in the way.
func (s *Store) CreateMemory(ctx context.Context, by Actor, p Path, content string) (Edited, error) {
	r, err := s.Apply(ctx, by, Put{Path: p, Content: content, If: IfAbsent()})
	if err != nil {
		return Edited{}, err
	}
	m := Memory{}
	for _, v := range r.Versions {
		m = Memory{ID: v.Memory, Path: v.Path, CreatedAt: v.CreatedAt}
	}
	return r.edited(m), nil
}

// edited returns m with the changes of r.
func (r Receipt) edited(m Memory) Edited {
	for _, v := range r.Versions {
		m.Version, m.Path, m.SHA256, m.Size, m.UpdatedAt = v.ID, v.Path, v.SHA256, v.Size, v.CreatedAt
	}
	for _, g := range r.texts {
		m.Content = g.text
	}
	return Edited{m, r}
}

// A MemoryUpdate changes a memory's path, its contents, or both. Fields left nil
// stay as they are.
type MemoryUpdate struct {
	Path    *Path
	Content *string

	// IfSHA256 refuses the update, with ErrConflict, unless the memory's contents
	// have this hash, or it is "". An update that was made already is not refused, so
	// that a client can repeat one whose answer was lost.
	IfSHA256 string
}

// UpdateMemory changes a memory, wherever it is, as one version. One that changes
// nothing makes no version.
//
// Errors: ErrNotExist; ErrConflict; those of [Put], and of [Move]. A conflict is
// reported before anything that stands in the way of the change.
func (s *Store) UpdateMemory(ctx context.Context, by Actor, id MemoryID, u MemoryUpdate) (Edited, error) {
	for {
		m, err := s.Peek(ctx, ByID(id))
		if err != nil {
			return Edited{}, err
		}
		done, err := s.updateMemory(ctx, by, m.Path, id, u)
		if !errors.Is(err, errLostRace) {
			return done, err
		}
	}
}

// errLostRace says that others changed the memory after it was read.
var errLostRace = &Error{Op: "update", Err: ErrConflict}

// updateMemory updates a memory that was at a path just now.
func (s *Store) updateMemory(ctx context.Context, by Actor, at Path, id MemoryID, u MemoryUpdate) (Edited, error) {
	// As in Edit, memories are locked by path.
	leave, err := s.editLocks.Lock(ctx, at)
	if err != nil {
		return Edited{}, err
	}
	defer leave()
	m, err := s.Peek(ctx, ByID(id))
	switch {
	case err != nil:
		return Edited{}, err
	case m.Path != at:
		return Edited{}, errLostRace
	}
	to := at
	if u.Path != nil {
		to = *u.Path
	}
	if u.IfSHA256 != "" && u.IfSHA256 != m.SHA256 {
		switch repeated, err := s.isRepeated(ctx, m, u); {
		case err != nil:
			return Edited{}, err
		case !repeated:
			return Edited{}, &Error{Op: "update", Path: at, Err: ErrConflict}
		}
		return s.unchanged(ctx, m)
	}
	var c Change
	switch {
	case to != at:
		c = Move{From: at, To: to, Content: u.Content, If: IfVersion(m.Version)}
	case u.Content != nil:
		c = Put{Path: at, Content: *u.Content, If: IfVersion(m.Version)}
	default:
		return s.unchanged(ctx, m)
	}
	r, err := s.Apply(ctx, by, c)
	switch {
	case s.lostRace(ctx, m, err):
		return Edited{}, errLostRace
	case err != nil:
		return Edited{}, err
	}
	return r.edited(m), nil
}

// lostRace reports whether a conditional change of m failed because others changed m
// first, so that it should be retried. The same errors can have other causes; then m has
// not changed.
func (s *Store) lostRace(ctx context.Context, m Memory, err error) bool {
	if !isStale(err) {
		return false
	}
	now, err := s.Stat(ctx, ByID(m.ID))
	return err != nil || now.Version != m.Version // the next attempt returns the error
}

// isStale reports whether a change of a memory failed because the version that it was
// based on is no longer the newest.
func isStale(err error) bool {
	return errors.Is(err, ErrConflict) || errors.Is(err, ErrNotExist) || errors.Is(err, ErrIsDir)
}

// unchanged is the result of an update that changes nothing. An archived store refuses
// such updates, too.
func (s *Store) unchanged(ctx context.Context, m Memory) (Edited, error) {
	info, err := s.Info(ctx)
	switch {
	case err != nil:
		return Edited{}, err
	case info.Archived():
		return Edited{}, &Error{Op: "update", Path: m.Path, Err: ErrArchived}
	}
	done := Applied{Usage: info.Usage, Limits: info.Limits, Settings: info.Settings}
	return Edited{m, Receipt{Applied: done}}, nil
}

// isRepeated reports whether m already is as the update would make it.
func (s *Store) isRepeated(ctx context.Context, m Memory, u MemoryUpdate) (bool, error) {
	switch {
	case u.Path == nil && u.Content == nil, u.Path != nil && *u.Path != m.Path:
		return false, nil
	case u.Content == nil, *u.Content == m.Content:
		return true, nil
	}
	// The contents may have been masked when they were written.
	k, err := s.currentSettings(ctx)
	if err != nil {
		return false, err
	}
	g, err := k.masker.mask(m.Path, *u.Content)
	if errors.Is(err, ErrSensitive) {
		return false, nil // nor this
	}
	return g.text == m.Content, err
}

// DeleteMemory removes a memory, wherever it is. If ifSHA256 is not "", its
// contents must have this hash.
//
// Errors: ErrNotExist, ErrConflict; those of [Remove].
func (s *Store) DeleteMemory(ctx context.Context, by Actor, id MemoryID, ifSHA256 string) error {
	for {
		m, err := s.Stat(ctx, ByID(id))
		if err != nil {
			return err
		}
		if ifSHA256 != "" && ifSHA256 != m.SHA256 {
			return &Error{Op: "delete", Path: m.Path, Err: ErrConflict}
		}
		if _, err = s.Apply(ctx, by, Remove{Path: m.Path, If: IfVersion(m.Version)}); !s.lostRace(ctx, m, err) {
			return err
		}
	}
}

// The following functions are what edits do to a text. Lines are as in package lines;
// they count from 1.

// lineAt returns the number of the line that holds the byte at offset.
func lineAt(text string, offset int) int {
	return strings.Count(text[:offset], "\n") + 1
}

// lineOffset returns where line n starts; one past the last line is the end.
func lineOffset(text string, n int) int {
	offset := 0
	for range n - 1 {
		i := strings.IndexByte(text[offset:], '\n')
		if i < 0 {
			return len(text)
		}
		offset += i + 1
	}
	return offset
}

// A matchError says where the text to be replaced occurs, if not exactly once.
type matchError struct {
	lines []int // of each occurrence, overlapping ones included; none repeated
}

func (e *matchError) Error() string {
	if len(e.lines) == 0 {
		return ErrNoMatch.Error()
	}
	return fmt.Sprintf("%v, in lines %v", ErrManyMatches, e.lines)
}

func (e *matchError) Unwrap() error {
	if len(e.lines) == 0 {
		return ErrNoMatch
	}
	return ErrManyMatches
}

// replaceOnce replaces the only occurrence of old, which must not be empty, by
// new, both literally. It returns the offset of the replacement as well.
func replaceOnce(text, old, new string) (edited string, at int, err error) {
	at = strings.Index(text, old)
	if at < 0 {
		return "", 0, &matchError{}
	}
	// Another occurrence may overlap the first.
	if next := strings.Index(text[at+1:], old); next >= 0 {
		return "", 0, &matchError{lines: occurrences(text, old)}
	}
	return text[:at] + new + text[at+len(old):], at, nil
}

// occurrences returns the lines on which old begins, overlapping ones included.
func occurrences(text, old string) []int {
	var lines []int
	line, counted := 1, 0
	for from := 0; ; {
		i := strings.Index(text[from:], old)
		if i < 0 {
			return slices.Compact(lines)
		}
		at := from + i
		line += strings.Count(text[counted:at], "\n")
		counted = at
		lines = append(lines, line)
		from = at + 1
	}
}

// A rangeError says that a line is not among those a text has.
type rangeError struct {
	lines int // that the text has
}

func (e *rangeError) Error() string { return fmt.Sprintf("%v: [0, %d]", ErrOutOfRange, e.lines) }
func (e *rangeError) Unwrap() error { return ErrOutOfRange }

// insertAfter puts insert, as whole lines, after line n of text; 0 is the top.
// At the end, the text keeps ending with "\n" or not as it did, unless the last
// line is empty now, which needs its "\n"; an empty text becomes the
// inserted text as it stands.
func insertAfter(text string, n int, insert string) (string, error) {
	total := lines.Count(text)
	if n < 0 || n > total {
		return "", &rangeError{lines: total}
	}
	if text == "" && insert != "" {
		return insert, nil
	}
	insert = strings.TrimSuffix(insert, "\n") + "\n"
	at := lineOffset(text, n+1)
	if at == len(text) && text != "" && text[len(text)-1] != '\n' {
		if last := strings.TrimSuffix(insert, "\n"); last != "" && last[len(last)-1] != '\n' {
			insert = last
		}
		return text + "\n" + insert, nil
	}
	return text[:at] + insert + text[at:], nil
}
