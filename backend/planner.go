package backend

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"memento"
	"memento/internal/times"
)

// A Planner has the rules of [memento.Memories.Apply] that do not depend on where
// memories are kept: conditions, conflicts, limits, and which versions a change
// makes. A backend that uses one only has to look up and to store:
//
//	p := backend.Planner{Info: info, By: actor, At: now, Seq: seq}
//	for _, change := range changes {
//		effects, err := p.Plan(snapshot, change)
//		// on error undo everything, else carry out the effects
//	}
//	// store p.Info.Usage and p.Seq
//
// Each change must be carried out before the next is planned, so that the
// snapshot shows it.
type Planner struct {
	Info memento.StoreInfo // limits, settings, archived or not; Usage is kept up to date by Plan
	By   memento.Actor
	At   time.Time // of the versions made, as [NextTime] has it
	Seq  int64     // of the store's newest version, 0 if it has none; kept up to date by Plan

	Imported *Sealing // how the versions of an import are sealed; nil if they are not

	sealer         Sealer                         // of the change, or the version, that is planned now; nil if it is not sealed
	firstVersionAt map[memento.MemoryID]time.Time // when the memories of imported versions were made
	tooLarge       map[memento.MemoryID]int64     // sizes of those that break the limit, so far
	settings       memento.SettingsRevision       // of Info; "" until it is needed
}

// A Snapshot shows a store as it is inside the running Apply. Memories come
// without contents.
type Snapshot interface {
	// Head returns the memory at p, and whether there is one.
	Head(p memento.Path) (memento.Memory, bool, error)
	// HeadByID returns the memory with the given ID, and whether there is one.
	HeadByID(id memento.MemoryID) (memento.Memory, bool, error)
	// Below returns the memories below the directory p in byte order of path,
	// at most limit of them unless it is 0.
	Below(p memento.Path, limit int) ([]memento.Memory, error)
}

// An Effect is what a change does to one memory: Before makes place for After,
// and Version is appended.
type Effect struct {
	Before  memento.Memory  // as it was; zero if there was none
	After   memento.Memory  // as it will be, with contents if Rewrite is set; zero if there is none any more
	Rewrite bool            // whether the contents are other than Before's
	Version memento.Version // the new version, without contents
}

// Plan returns what the change does, memory by memory, and counts it in
// p.Info.Usage. A no-op has no effects. After an error p must not be used again.
func (p *Planner) Plan(now Snapshot, c memento.Change) ([]Effect, error) {
	switch c := c.(type) {
	case Sealed:
		if _, nested := c.Change.(Sealed); nested || c.By == nil {
			break
		}
		if c.hasOldKeys(p.Info.Envelope) {
			return nil, &memento.Error{Op: "apply", Err: errKeysChanged}
		}
		p.sealer = c.By
		effects, err := p.Plan(now, c.Change)
		p.sealer = nil
		return effects, err
	case memento.Put:
		return p.put(now, c)
	case memento.Remove:
		return p.remove(now, c)
	case memento.Move:
		return p.move(now, c)
	}
	return nil, &memento.Error{Op: "apply", Err: fmt.Errorf("%w: unknown change %T", memento.ErrInvalid, c)}
}

func (p *Planner) put(now Snapshot, c memento.Put) ([]Effect, error) {
	fail := func(path memento.Path, err error) ([]Effect, error) {
		return nil, &memento.Error{Op: "put", Path: path, Err: err}
	}
	if err := c.Check(); err != nil {
		return nil, err
	}
	if p.Info.Archived() {
		return fail(c.Path, memento.ErrArchived)
	}
	if err := p.checkProtected(c.Path); err != nil {
		return fail(c.Path, err)
	}
	if p.settingsChanged(c.MaskedBy) {
		return fail(c.Path, memento.ErrSettingsChanged)
	}
	before, exists, err := now.Head(c.Path)
	if err != nil {
		return nil, err
	}
	present := &before
	if !exists {
		present = nil
	}
	if err := p.checkCondition(c.If, present); err != nil {
		return fail(c.Path, err)
	}
	after := before
	op := memento.Modified
	if !exists {
		op = memento.Created
		if err := p.checkFree(now, c.Path, ""); err != nil {
			return fail(err.Path, err.Err)
		}
		if err := p.pathLimits(c.Path); err != nil {
			return fail(c.Path, err)
		}
		after = memento.Memory{ID: NewMemoryID(p.At), Path: c.Path, CreatedAt: p.At}
	}
	after.Content, after.Size = c.Content, int64(len(c.Content))
	p.setHash(&after)
	if exists && contentHash(&after) == contentHash(&before) {
		return nil, nil
	}
	if err := p.checkGrowth(before, after); err != nil {
		return fail(c.Path, err)
	}
	effect, err := p.effect(before, after, op)
	if err != nil {
		return fail(c.Path, err)
	}
	return []Effect{effect}, nil
}

func (p *Planner) remove(now Snapshot, c memento.Remove) ([]Effect, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	gone, err := p.affected(now, "remove", c.Path, c.If)
	if err != nil {
		return nil, err
	}
	effects := make([]Effect, len(gone))
	for i, m := range gone {
		if err := p.checkProtected(m.Path); err != nil {
			return nil, &memento.Error{Op: "remove", Path: m.Path, Err: err}
		}
		p.Info.Usage.Memories--
		p.Info.Usage.Bytes -= m.Size
		if effects[i], err = p.effect(m, memento.Memory{}, memento.Deleted); err != nil {
			return nil, &memento.Error{Op: "remove", Path: m.Path, Err: err}
		}
	}
	return effects, nil
}

func (p *Planner) move(now Snapshot, c memento.Move) ([]Effect, error) {
	fail := func(path memento.Path, err error) ([]Effect, error) {
		return nil, &memento.Error{Op: "move", Path: path, Err: err}
	}
	if err := c.Check(); err != nil {
		return nil, err
	}
	if p.Info.Archived() {
		return fail(c.From, memento.ErrArchived)
	}
	if p.settingsChanged(c.MaskedBy) {
		return fail(c.From, memento.ErrSettingsChanged)
	}
	moving, err := p.affected(now, "move", c.From, c.If)
	if err != nil {
		return nil, err
	}
	if c.Content != nil && moving[0].Path != c.From {
		return fail(c.From, memento.ErrIsDir)
	}
	switch {
	case !c.From.Contains(c.To):
	case moving[0].Path == c.From:
		return fail(c.From, memento.ErrNotDir)
	default:
		return nil, c.IntoItself()
	}
	switch _, exists, err := now.Head(c.To); {
	case err != nil:
		return nil, err
	case exists:
		return fail(c.To, memento.ErrExist)
	}
	if err := p.checkFree(now, c.To, c.From); err != nil {
		if errors.Is(err, memento.ErrIsDir) {
			return fail(c.To, memento.ErrExist)
		}
		return fail(err.Path, err.Err)
	}
	effects := make([]Effect, len(moving))
	for i, before := range moving {
		after := before
		after.Path = before.Path.Moved(c.From, c.To)
		for _, path := range []memento.Path{before.Path, after.Path} {
			if err := p.checkProtected(path); err != nil {
				return fail(path, err)
			}
		}
		if err := p.pathLimits(after.Path); err != nil {
			return fail(after.Path, err)
		}
		if c.Content != nil {
			after.Content, after.Size = *c.Content, int64(len(*c.Content))
			p.setHash(&after)
			if err := p.checkGrowth(before, after); err != nil {
				return fail(after.Path, err)
			}
		}
		if effects[i], err = p.effect(before, after, memento.Modified); err != nil {
			return fail(after.Path, err)
		}
	}
	return effects, nil
}

// PlanImport returns what appending v, as [memento.Memories.Import] does, changes. Limits
// are checked by PlanImported, after the last version.
func (p *Planner) PlanImport(now Snapshot, v memento.Version) ([]Effect, error) {
	fail := func(format string, args ...any) ([]Effect, error) {
		return nil, &memento.Error{Op: "import", Path: v.Path, Err: fmt.Errorf("%w: version %q "+format, append([]any{memento.ErrInvalid, v.ID}, args...)...)}
	}
	if p.Info.Archived() {
		return nil, &memento.Error{Op: "import", Err: memento.ErrArchived}
	}
	if p.Imported != nil {
		if p.Imported.hasOldKeys(p.Info.Envelope) {
			return nil, &memento.Error{Op: "import", Err: errKeysChanged}
		}
		p.sealer = p.Imported.By
	}
	if v.ID == "" || v.Memory == "" {
		return fail("has no ID or no memory")
	}
	if !times.IsWritable(v.CreatedAt) || !times.IsWritable(v.RedactedAt) {
		return fail("has a time that is not in the years 1 to 9999")
	}
	before, lives, err := now.HeadByID(v.Memory)
	if err != nil {
		return nil, err
	}
	var after memento.Memory
	switch {
	case v.Redacted():
		// Path and contents of the memory are unknown until its next version.
		p.firstVersionTime(v)
		v.Path, v.Content, v.SHA256, v.Digest, v.Size = "", "", "", "", 0
	case v.Operation == memento.Deleted:
		v.Content, v.SHA256, v.Digest, v.Size = "", "", "", 0
	case v.Operation != memento.Created && v.Operation != memento.Modified:
		return fail("has the unknown operation %q", v.Operation)
	case !utf8.ValidString(v.Content):
		return fail("is not valid UTF-8")
	case v.SHA256 != memento.HashContent(v.Content):
		return fail("does not have the contents that its hash promises")
	default:
		if v.Digest == "" { // what is sealed says how large it was
			v.Size = int64(len(v.Content))
		}
		after = memento.Memory{ID: v.Memory, Path: v.Path, Content: v.Content, SHA256: v.SHA256, Digest: v.Digest, Size: v.Size,
			Version: v.ID, CreatedAt: p.firstVersionTime(v), UpdatedAt: v.CreatedAt}
		if lives {
			after.CreatedAt = before.CreatedAt
		}
	}
	if !v.Redacted() {
		if _, err := memento.ParsePath(string(v.Path)); err != nil {
			return nil, err
		}
	}
	for _, path := range []memento.Path{before.Path, after.Path} {
		if path == "" {
			continue
		}
		if err := p.checkProtected(path); err != nil {
			return nil, &memento.Error{Op: "import", Path: path, Err: err}
		}
	}
	if after.ID != "" && after.Path != before.Path {
		if other, exists, err := now.Head(v.Path); err != nil {
			return nil, err
		} else if exists {
			return nil, &memento.Error{Op: "import", Path: other.Path, Err: memento.ErrExist}
		}
		if err := p.checkFree(now, v.Path, ""); err != nil {
			err.Op = "import"
			return nil, err
		}
		if err := p.pathLimits(v.Path); err != nil {
			return nil, &memento.Error{Op: "import", Path: v.Path, Err: err}
		}
	}
	if before.ID != "" {
		p.Info.Usage.Memories--
	}
	if after.ID != "" {
		p.Info.Usage.Memories++
	}
	p.Info.Usage.Bytes += after.Size - before.Size
	delete(p.tooLarge, v.Memory)
	if after.Size > p.Info.Limits.MemoryBytes {
		if p.tooLarge == nil {
			p.tooLarge = map[memento.MemoryID]int64{}
		}
		p.tooLarge[v.Memory] = after.Size
	}
	rewrite := after.ID != "" && after.SHA256 != before.SHA256
	p.Seq++
	v.Content, v.Seq = "", p.Seq
	return []Effect{{Before: before, After: after, Rewrite: rewrite, Version: v}}, nil
}

// firstVersionTime returns the time of the first imported version of v's memory.
func (p *Planner) firstVersionTime(v memento.Version) time.Time {
	if p.firstVersionAt == nil {
		p.firstVersionAt = map[memento.MemoryID]time.Time{}
	}
	at, known := p.firstVersionAt[v.Memory]
	if !known {
		at = v.CreatedAt
		p.firstVersionAt[v.Memory] = at
	}
	return at
}

// PlanImported checks the limits once all versions are imported.
func (p *Planner) PlanImported() error {
	l, u := p.Info.Limits, p.Info.Usage
	for _, size := range p.tooLarge {
		return &memento.Error{Op: "import", Err: &memento.LimitError{Limit: memento.LimitMemoryBytes, Max: l.MemoryBytes, Want: size}}
	}
	switch {
	case u.Memories > l.Memories:
		return &memento.Error{Op: "import", Err: &memento.LimitError{Limit: memento.LimitMemories, Max: l.Memories, Want: u.Memories}}
	case u.Bytes > l.Bytes:
		return &memento.Error{Op: "import", Err: &memento.LimitError{Limit: memento.LimitBytes, Max: l.Bytes, Want: u.Bytes}}
	}
	return nil
}

// affected returns the memory at path, or all memories below it.
func (p *Planner) affected(now Snapshot, op string, path memento.Path, cond memento.Condition) ([]memento.Memory, error) {
	head, exists, err := now.Head(path)
	if err != nil {
		return nil, err
	}
	if exists {
		if err := p.checkCondition(cond, &head); err != nil {
			return nil, &memento.Error{Op: op, Path: path, Err: err}
		}
		return []memento.Memory{head}, nil
	}
	below, err := now.Below(path, 0)
	switch {
	case err != nil:
		return nil, err
	case len(below) == 0:
		return nil, &memento.Error{Op: op, Path: path, Err: cmp.Or(p.checkCondition(cond, nil), memento.ErrNotExist)}
	case cond != memento.Condition{}:
		return nil, &memento.Error{Op: op, Path: path, Err: memento.ErrIsDir}
	}
	return below, p.sortByClearPath(below)
}

// sortByClearPath sorts memories, which are in order of the stored paths, by their
// plaintext paths.
func (p *Planner) sortByClearPath(memories []memento.Memory) error {
	if p.sealer == nil {
		return nil
	}
	known := make(map[memento.Path]memento.Path, len(memories))
	for _, m := range memories {
		path, err := p.clearPath(m.Path)
		if err != nil {
			return err
		}
		known[m.Path] = path
	}
	slices.SortFunc(memories, func(x, y memento.Memory) int { return cmp.Compare(known[x.Path], known[y.Path]) })
	return nil
}

// checkFree returns an error if there cannot be a memory at path, where there is none. There
// is something at or below from, unless that is "": so what is above it is a directory.
func (p *Planner) checkFree(now Snapshot, path, from memento.Path) *memento.Error {
	below, err := now.Below(path, 1)
	if err != nil {
		return &memento.Error{Err: err}
	}
	if len(below) > 0 {
		return &memento.Error{Path: path, Err: memento.ErrIsDir}
	}
	for dir := range path.Ancestors() {
		if from != "" && dir.Contains(from) {
			break
		}
		_, exists, err := now.Head(dir)
		if err != nil {
			return &memento.Error{Err: err}
		}
		if exists {
			return &memento.Error{Path: dir, Err: memento.ErrNotDir}
		}
	}
	return nil
}

// settingsChanged reports whether a change was masked by other settings than the
// store has. Those of the store do not change while a Planner is used.
func (p *Planner) settingsChanged(maskedBy memento.SettingsRevision) bool {
	if maskedBy == "" {
		return false
	}
	if p.settings == "" {
		p.settings = p.Info.SettingsRevision()
	}
	return maskedBy != p.settings
}

// Applied returns the result of the changes planned so far, for backends to return from
// Apply.
func (p *Planner) Applied(versions []memento.Version) memento.Applied {
	return memento.Applied{Versions: versions, Usage: p.Info.Usage, Limits: p.Info.Limits, Settings: p.Info.Settings.Clone()}
}

// clearPath returns the plaintext of a stored path.
func (p *Planner) clearPath(path memento.Path) (memento.Path, error) {
	if p.sealer == nil {
		return path, nil
	}
	return p.sealer.Clear(path)
}

// checkProtected returns ErrProtected if the store's settings make the path read-only, or,
// for an agent, if it looks like one that they make read-only.
func (p *Planner) checkProtected(path memento.Path) error {
	if len(p.Info.Settings.ReadOnly) == 0 {
		return nil
	}
	path, err := p.clearPath(path)
	switch {
	case err != nil:
		return err
	case p.Info.Settings.IsReadOnly(path):
		return memento.ErrProtected
	case p.byAgent() && p.Info.Settings.LooksReadOnly(path):
		return memento.ErrLookalike
	}
	return nil
}

// byAgent reports whether the change is an agent's, or that of a program with a key, which
// can be one.
func (p *Planner) byAgent() bool {
	return p.By.Kind == memento.ActorSession || p.By.Kind == memento.ActorAPIKey
}

// setHash sets the hash, and the digest, of m's contents.
func (p *Planner) setHash(m *memento.Memory) {
	m.SHA256, m.Digest = memento.HashContent(m.Content), ""
	if p.sealer != nil {
		m.Digest = p.sealer.Digest(m.SHA256)
	}
}

// pathLimits checks the store's limits of paths.
func (p *Planner) pathLimits(path memento.Path) error {
	path, err := p.clearPath(path)
	if err != nil {
		return err
	}
	if n := int64(len(path)); n > p.Info.Limits.PathBytes {
		return &memento.LimitError{Limit: memento.LimitPathBytes, Max: p.Info.Limits.PathBytes, Want: n}
	}
	if n := int64(path.Depth()); n > p.Info.Limits.PathDepth {
		return &memento.LimitError{Limit: memento.LimitPathDepth, Max: p.Info.Limits.PathDepth, Want: n}
	}
	return nil
}

// checkGrowth adds the difference between before and after to the usage, and checks the
// limits. A change that does not grow is never refused, so that a store above a lowered
// limit can shrink.
func (p *Planner) checkGrowth(before, after memento.Memory) error {
	l, u := p.Info.Limits, &p.Info.Usage
	grown := after.Size - before.Size
	if grown > 0 && after.Size > l.MemoryBytes {
		return &memento.LimitError{Limit: memento.LimitMemoryBytes, Max: l.MemoryBytes, Want: after.Size}
	}
	if before.ID == "" && u.Memories+1 > l.Memories {
		return &memento.LimitError{Limit: memento.LimitMemories, Max: l.Memories, Used: u.Memories, Want: u.Memories + 1}
	}
	if grown > 0 && u.Bytes+grown > l.Bytes {
		return &memento.LimitError{Limit: memento.LimitBytes, Max: l.Bytes, Used: u.Bytes, Want: u.Bytes + grown}
	}
	if before.ID == "" {
		u.Memories++
	}
	u.Bytes += grown
	return nil
}

func (p *Planner) effect(before, after memento.Memory, op memento.Operation) (Effect, error) {
	p.Seq++
	v := memento.Version{
		ID:        NewVersionID(p.At, p.Seq),
		Seq:       p.Seq,
		Memory:    after.ID,
		Operation: op,
		Path:      after.Path,
		Size:      after.Size,
		Digest:    after.Digest,
		CreatedBy: p.By,
		CreatedAt: p.At,
	}
	if op == memento.Deleted {
		v.Memory, v.Path = before.ID, before.Path
		return Effect{Before: before, Version: v}, nil
	}
	rewrite := contentHash(&after) != contentHash(&before)
	switch {
	case !rewrite:
		after.SHA256, after.Content = before.SHA256, before.Content // as stored already; the contents are not written
	case p.sealer != nil:
		sealed, err := p.sealer.Seal(after.ID, v.ID, after.Content)
		if err != nil {
			return Effect{}, err
		}
		after.Content, after.SHA256 = sealed, memento.HashContent(sealed)
	}
	after.Version, after.UpdatedAt = v.ID, p.At
	v.SHA256 = after.SHA256
	return Effect{Before: before, After: after, Rewrite: rewrite, Version: v}, nil
}

// checkCondition returns ErrExist or ErrConflict if the condition does not hold for the
// memory at the path, which is nil if there is none.
func (p *Planner) checkCondition(c memento.Condition, m *memento.Memory) error {
	if p.sealer == nil {
		return c.Check(m, nil)
	}
	return c.Check(m, p.sealer.Digest)
}

// contentHash returns the value that is equal for equal contents.
func contentHash(m *memento.Memory) string {
	if m.Digest != "" {
		return m.Digest
	}
	return m.SHA256
}

// errKeysChanged is the ErrConflict of a change that was sealed with other keys than
// the store has.
var errKeysChanged = fmt.Errorf("%w: the store's keys", memento.ErrConflict)
