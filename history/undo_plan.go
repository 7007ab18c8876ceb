package history

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"memento"
	"memento/internal/lines"
)

// An undoPlan is the plan of an undo, as of one instant of the history.
type undoPlan struct {
	s        *memento.Store
	opts     *UndoOptions
	settings memento.Settings
	limits   memento.Limits

	living         map[memento.MemoryID]memento.Version // the newest versions of the memories that there are
	made           map[pathAndHash][]memento.Version    // versions that created a memory, since the first that is undone
	restoredBefore map[memento.MemoryID]bool            // memories that an earlier undo of a deletion created
	todo           []*undoMemory                        // memories to change
	conflicts      []UndoConflict
}

// A pathAndHash is a path with the hash of a text at it.
type pathAndHash struct {
	path   memento.Path
	sha256 string
}

// An undoMemory is a memory with versions to undo, and the state that it would have
// without them.
type undoMemory struct {
	history []memento.Version // without contents: the last one before the undone versions, if it is known, and all since
	head    memento.Version   // the newest
	undone  []memento.VersionID

	existedBefore bool // whether it existed before
	exists        bool
	path          memento.Path
	text          string

	last         memento.Path // that is known
	afterUnknown bool         // whether the last text by others is not known
	replayed     int          // versions of history that text has
	unmasked     string       // text before masking

	merged  bool                      // whether text has changes of others
	masked  []memento.FindingLocation // what was masked in text
	unknown bool                      // a text that the merge needs is no longer known
	edited  []memento.VersionID       // versions by others that cannot be merged

	action    UndoAction
	viaDetour bool // see detour
}

// planUndo plans an undo. Memories in refused become conflicts with that reason.
func planUndo(ctx context.Context, s *memento.Store, opts *UndoOptions, refused map[memento.MemoryID]UndoReason) (*undoPlan, error) {
	info, err := s.Info(ctx)
	if err != nil {
		return nil, err
	}
	p := &undoPlan{s: s, opts: opts, settings: info.Settings, limits: info.Limits, living: map[memento.MemoryID]memento.Version{}, made: map[pathAndHash][]memento.Version{}, restoredBefore: map[memento.MemoryID]bool{}}
	memories, err := p.read(ctx)
	if err != nil || len(memories) == 0 {
		return p, err
	}
	for _, m := range memories {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := p.replay(ctx, m); err != nil {
			return nil, err
		}
		if err := p.decide(ctx, m, refused); err != nil {
			return nil, err
		}
	}
	return p, p.placeAll(ctx)
}

// read returns the memories with versions to undo, in the order of their first versions.
func (p *undoPlan) read(ctx context.Context) ([]*undoMemory, error) {
	var memories []*undoMemory
	byID := map[memento.MemoryID]*undoMemory{}
	for v, err := range p.s.Versions(ctx, memento.VersionListOptions{OldestFirst: true}) {
		if err != nil {
			return nil, err
		}
		m := byID[v.Memory]
		if m == nil && p.opts.matches(&v) {
			m = &undoMemory{}
			if before, known := p.living[v.Memory]; known {
				m.history = []memento.Version{before}
			}
			byID[v.Memory] = m
			memories = append(memories, m)
		}
		if m != nil {
			m.history, m.head = append(m.history, v), v
		}
		if v.Operation == memento.Created && !v.Redacted() && len(memories) > 0 {
			at := pathAndHash{v.Path, v.SHA256}
			p.made[at] = append(p.made[at], v)
		}
		if v.Operation == memento.Deleted {
			delete(p.living, v.Memory)
		} else {
			p.living[v.Memory] = v
		}
	}
	slices.SortStableFunc(memories, func(a, b *undoMemory) int { return cmp.Compare(a.history[0].Seq, b.history[0].Seq) })
	return memories, nil
}

// replay computes the state of a memory without the undone versions: it starts with the
// state before the first of them, and applies the later changes of others. Further calls
// continue with versions that were added to the history since.
func (p *undoPlan) replay(ctx context.Context, m *undoMemory) error {
	if m.replayed == 0 {
		if err := p.begin(ctx, m); err != nil {
			return err
		}
	} else {
		m.text = m.unmasked
	}
	for ; m.replayed < len(m.history); m.replayed++ {
		v := &m.history[m.replayed]
		switch {
		case p.isUndone(v):
			m.undone = append(m.undone, v.ID)
			if m.afterUnknown { // the text before the change is not known
				m.unknown = true
			}
		case v.Operation == memento.Deleted:
			// A deletion ends unknown texts and conflicts.
			m.exists, m.unknown, m.edited, m.afterUnknown = false, false, nil, false
		case v.Redacted():
			m.afterUnknown = true
		default:
			if v.Path != m.last || m.path == "" {
				m.path = v.Path
			}
			if err := p.follow(ctx, m, v); err != nil {
				return err
			}
		}
		if !v.Redacted() {
			m.last = v.Path
		}
	}
	m.unmasked, m.masked, m.action = m.text, nil, ""
	return nil
}

// begin sets the state of a memory before the first undone version.
func (p *undoPlan) begin(ctx context.Context, m *undoMemory) error {
	if first := &m.history[0]; !p.isUndone(first) {
		text, known, err := p.text(ctx, first)
		if err != nil {
			return err
		}
		m.existedBefore, m.exists, m.path, m.text, m.unknown = true, true, first.Path, text, !known
		m.last, m.replayed = first.Path, 1
	} else if first.Operation != memento.Created {
		m.unknown, m.existedBefore = true, true
	}
	return nil
}

// follow applies the change of v, a version by others, to the text of m.
func (p *undoPlan) follow(ctx context.Context, m *undoMemory, v *memento.Version) error {
	before := m.before(v)
	m.afterUnknown = false
	if m.unknown || before != nil && !before.Redacted() && before.SHA256 == v.SHA256 && before.Operation != memento.Deleted {
		return nil // only the path has changed
	}
	text, known, err := p.text(ctx, v)
	if err != nil {
		return err
	}
	old := ""
	if known && before != nil && before.Operation != memento.Deleted {
		old, known, err = p.text(ctx, before)
		if err != nil {
			return err
		}
	}
	merged, ok := "", false
	if known {
		merged, ok = lines.Merge(old, m.text, text)
	}
	same := known && m.exists && text == m.text
	if known && m.exists && !same {
		// An earlier undo may have written the text with secrets masked.
		masked, _, err := p.s.Masked(ctx, m.path, m.text)
		same = err == nil && text == masked
	}
	switch {
	case same: // others have restored it already
		m.edited, m.text = nil, text
	case !known:
		m.unknown = true
	case len(m.edited) > 0:
	case !ok:
		m.edited = append(m.edited, v.ID)
	default:
		m.text, m.merged = merged, true
		// Of a memory that the undone versions created, only lines by others stay.
		m.exists = m.existedBefore || merged != ""
	}
	return nil
}

// before returns the version before v, or nil. Redacted versions by others are skipped.
func (m *undoMemory) before(v *memento.Version) *memento.Version {
	i := slices.IndexFunc(m.history, func(w memento.Version) bool { return w.ID == v.ID })
	for i--; i > 0 && m.history[i].Redacted() && !slices.Contains(m.undone, m.history[i].ID); i-- {
	}
	if i < 0 {
		return nil
	}
	return &m.history[i]
}

// isUndone reports whether v is to be undone. A version that created a memory with the
// path and contents of a deleted one is not: it has undone the deletion.
func (p *undoPlan) isUndone(v *memento.Version) bool {
	return p.opts.matches(v) && !(v.Operation == memento.Created && p.restoredBefore[v.Memory])
}

// text returns the contents of a version, if they are known and whole.
func (p *undoPlan) text(ctx context.Context, v *memento.Version) (text string, known bool, err error) {
	if v.Redacted() || v.Operation == memento.Deleted {
		return "", false, nil
	}
	full, err := p.s.Version(ctx, v.ID)
	switch {
	case errors.Is(err, memento.ErrNotExist), errors.Is(err, memento.ErrDamaged), errors.Is(err, memento.ErrDecrypt):
		return "", false, nil // pruned since, or damaged
	case err != nil:
		return "", false, err
	}
	return full.Content, !full.Redacted() && memento.HashContent(full.Content) == v.SHA256, nil
}

// decide determines the action for a memory after its replay.
func (p *undoPlan) decide(ctx context.Context, m *undoMemory, refused map[memento.MemoryID]UndoReason) error {
	living := m.head.Operation != memento.Deleted
	switch {
	case len(m.undone) == 0, !living && !m.exists && !m.unknown && len(m.edited) == 0:
		return nil
	case m.unknown:
		p.addConflict(m, UndoLost)
		return nil
	case len(m.edited) > 0:
		p.addConflict(m, UndoEdited, m.edited...)
		return nil
	}
	if m.exists {
		if ok, err := p.mask(ctx, m); err != nil || !ok {
			return err
		}
	}
	hash := memento.HashContent(m.text)
	switch {
	case !m.exists:
		m.action = UndoRemove
	case !living:
		m.action = UndoRestore
		for _, v := range p.made[pathAndHash{m.path, hash}] {
			if v.Seq > m.head.Seq {
				p.restoredBefore[v.Memory] = true
				return nil
			}
		}
	case hash != m.head.SHA256:
		m.action = UndoRevert
	case m.path != m.head.Path:
		m.action = UndoRename
	default:
		return nil
	}
	switch {
	case living && p.settings.IsReadOnly(m.head.Path), m.exists && p.settings.IsReadOnly(m.path):
		p.addConflict(m, UndoProtected)
	case refused[m.head.Memory] != "":
		p.addConflict(m, refused[m.head.Memory])
	default:
		p.todo = append(p.todo, m)
	}
	return nil
}

// mask masks the text of a memory. It returns false, and adds a conflict, if the settings
// refuse the text.
func (p *undoPlan) mask(ctx context.Context, m *undoMemory) (ok bool, err error) {
	if int64(len(m.text)) > p.limits.MemoryBytes {
		return true, nil // which Apply refuses
	}
	text, masked, err := p.s.Masked(ctx, m.path, m.text)
	if errors.Is(err, memento.ErrSensitive) {
		p.addConflict(m, UndoSensitive)
		return false, nil
	}
	if err == nil && text != m.text {
		m.text, m.masked = text, masked
	}
	return err == nil, err
}

func (p *undoPlan) addConflict(m *undoMemory, why UndoReason, others ...memento.VersionID) {
	p.conflicts = append(p.conflicts, UndoConflict{
		Memory: m.head.Memory, Path: cmp.Or(m.head.Path, m.path), Reason: why, Versions: m.undone, Others: others,
	})
}

// placeAll makes conflicts of memories whose path is taken.
func (p *undoPlan) placeAll(ctx context.Context) error {
	foreign, err := p.foreign(ctx)
	if err != nil {
		return err
	}
	for again := true; again; { // a memory that stays can take the path of another
		again = false
		taken := newPathSet()
		stays := maps.Clone(p.living)
		for _, m := range p.todo {
			delete(stays, m.head.Memory)
		}
		for _, v := range stays {
			taken.add(v.Path)
		}
		for _, path := range foreign {
			taken.add(path)
		}
		for i, m := range p.todo {
			if m.action == UndoRemove {
				continue
			}
			if taken.conflicts(m.path) {
				p.addConflict(m, UndoOccupied, p.occupants(m.path, stays)...)
				p.todo = slices.Delete(p.todo, i, i+1)
				again = true
				break
			}
			taken.add(m.path)
		}
	}
	return nil
}

// occupants returns versions of memories that take a path, at most ten.
func (p *undoPlan) occupants(path memento.Path, stays map[memento.MemoryID]memento.Version) []memento.VersionID {
	const most = 10
	var ids []memento.VersionID
	for _, v := range stays {
		if v.Path == path || v.Path.Contains(path) || path.Contains(v.Path) {
			ids = append(ids, v.ID)
		}
	}
	slices.Sort(ids)
	return ids[:min(len(ids), most)]
}

// foreign returns the paths of foreign files, if any memory gets another path.
func (p *undoPlan) foreign(ctx context.Context) ([]memento.Path, error) {
	if !slices.ContainsFunc(p.todo, func(m *undoMemory) bool {
		return m.action != UndoRemove && m.path != m.head.Path || m.action == UndoRestore
	}) {
		return nil, nil
	}
	var paths []memento.Path
	for e, err := range p.s.List(ctx, memento.ListOptions{Brief: true}) {
		if err != nil {
			return nil, err
		}
		if e.Foreign {
			paths = append(paths, e.Path)
		}
	}
	return paths, nil
}

// A pathSet is a set of paths of memories.
type pathSet struct {
	files map[memento.Path]bool
	dirs  map[memento.Path]int // how many are below each
}

func newPathSet() *pathSet { return &pathSet{map[memento.Path]bool{}, map[memento.Path]int{}} }

func (s *pathSet) add(p memento.Path) {
	if s.files[p] {
		return
	}
	s.files[p] = true
	for dir := range p.Ancestors() {
		s.dirs[dir]++
	}
}

func (s *pathSet) remove(p memento.Path) {
	if !s.files[p] {
		return
	}
	delete(s.files, p)
	for dir := range p.Ancestors() {
		s.dirs[dir]--
	}
}

// conflicts reports whether there cannot be a memory at p beside those of the set.
func (s *pathSet) conflicts(p memento.Path) bool {
	if s.files[p] || s.dirs[p] > 0 {
		return true
	}
	for dir := range p.Ancestors() {
		if s.files[dir] {
			return true
		}
	}
	return false
}
