package dirstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"unicode/utf8"

	"memento"
)

// ByHand is the user ID in the actor of versions that were made from files changed by
// hand or by another program.
const ByHand = "edited by hand"

var handActor = memento.Actor{Kind: memento.ActorUser, ID: ByHand}

func isText(s string) bool { return utf8.ValidString(s) }

func tooLong(size, most int64) fileStatus {
	return fileStatus{unreadable, fmt.Sprintf("it has %d bytes, and a memory of this store can have %d", size, most)}
}

// A step is one change to the database, made from what was found on disk.
type step struct {
	change memento.Change
	x      *finding // the file that is there afterwards; for a drop, the file that was there
	from   *finding // for a Move, the drop that is its source
}

// adopt makes versions from the findings. A file that the database refuses is left on
// disk as it is, and recorded as unmanaged.
func (w *work) adopt(ctx context.Context) error {
	w.findings = slices.DeleteFunc(w.findings, func(x finding) bool {
		if x.status.kind != managed {
			w.changes.put = append(w.changes.put, x.unmanagedRow(x.status))
		}
		return x.status.kind != managed
	})
	if err := w.spareArchived(ctx); err != nil {
		return err
	}
	w.flushFound()
	return w.commit(ctx, w.steps())
}

// spareArchived restores files that were removed by hand if the store is archived. An
// archived store would accept the removal, but if the file was only renamed, it would not
// accept the file under its new name.
func (w *work) spareArchived(ctx context.Context) error {
	removed := func(x finding) bool { return x.action == drop }
	i := slices.IndexFunc(w.findings, removed)
	if i < 0 {
		return nil
	}
	p := w.findings[i].path
	_, err := w.f.b.db.Apply(ctx, w.f.store, handActor, []memento.Change{memento.Move{From: p, To: p}}) // always refused, since From is To; the error says whether the store is archived
	switch {
	case !refused(err):
		return err
	case !errors.Is(err, memento.ErrArchived):
		return nil
	}
	for _, x := range w.findings {
		if removed(x) {
			w.tasks = append(w.tasks, task{path: x.path, head: x.head})
		}
	}
	w.findings = slices.DeleteFunc(w.findings, removed)
	return nil
}

// steps returns the changes for the findings, ordered so that removals come before what
// needs their paths.
func (w *work) steps() []step {
	moved, targets := w.renames()
	var drops, moves, puts []step
	for i := range w.findings {
		switch x := &w.findings[i]; {
		case x.action == drop:
			if to := moved[x]; to != nil {
				moves = append(moves, step{memento.Move{From: x.path, To: to.path, If: memento.IfVersion(x.head.Version)}, to, x})
				if to.hash != x.head.SHA256 {
					puts = append(puts, step{memento.Put{Path: to.path, Content: to.text}, to, nil})
				}
				continue
			}
			drops = append(drops, w.dropStep(x))
		case x.action == edit:
			puts = append(puts, step{memento.Put{Path: x.path, Content: x.text, If: memento.IfVersion(x.head.Version)}, x, nil})
		case !targets[x]:
			puts = append(puts, w.addStep(x))
		}
	}
	return slices.Concat(drops, moves, puts)
}

func (w *work) dropStep(x *finding) step {
	return step{memento.Remove{Path: x.path, If: memento.IfVersion(x.head.Version)}, x, nil}
}

func (w *work) addStep(x *finding) step {
	return step{memento.Put{Path: x.path, Content: x.text, If: memento.IfAbsent()}, x, nil}
}

// renames pairs files that have disappeared with files that are new: first by inode, then
// by contents if both are unique. targets has the new files of the pairs.
func (w *work) renames() (moved map[*finding]*finding, targets map[*finding]bool) {
	moved, targets = map[*finding]*finding{}, map[*finding]bool{}
	pairBy(w, moved, targets, func(x *finding) (uint64, bool) {
		if x.action == drop {
			return x.row.print.inode, x.row.print.inode != 0
		}
		return x.print.inode, x.print.inode != 0
	})
	pairBy(w, moved, targets, func(x *finding) (string, bool) {
		if x.action == drop {
			return x.head.SHA256, true
		}
		return x.hash, true
	})
	return moved, targets
}

// pairBy pairs a file that has disappeared with a new file if both have the same key and
// no other file has it.
func pairBy[K comparable](w *work, moved map[*finding]*finding, targets map[*finding]bool, key func(*finding) (K, bool)) {
	type alike struct{ gone, came []*finding }
	groups := map[K]*alike{}
	for i := range w.findings {
		x := &w.findings[i]
		if x.action == edit || moved[x] != nil || targets[x] {
			continue
		}
		k, ok := key(x)
		if !ok {
			continue
		}
		if groups[k] == nil {
			groups[k] = &alike{}
		}
		if x.action == drop {
			groups[k].gone = append(groups[k].gone, x)
		} else {
			groups[k].came = append(groups[k].came, x)
		}
	}
	for _, a := range groups {
		if len(a.gone) == 1 && len(a.came) == 1 && w.sameFile(a.gone[0], a.came[0]) {
			moved[a.gone[0]], targets[a.came[0]] = a.came[0], true
		}
	}
}

// sameFile reports whether a new file is the one that has disappeared, rather than
// another file that was given its inode number.
func (w *work) sameFile(gone, came *finding) bool {
	if gone.head.SHA256 == came.hash {
		return true
	}
	f, err := w.f.opened.Load().root.OpenFile(came.found.name, readFlags, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !os.SameFile(info, came.found.info) {
		return false
	}
	born, ok := birth(f)
	return ok && born <= gone.row.print.changed
}

// commit writes steps to the database in one transaction. If that is refused, it writes
// as many of them as possible.
func (w *work) commit(ctx context.Context, steps []step) error {
	if len(steps) == 0 {
		return nil
	}
	list := make([]memento.Change, len(steps))
	for i, s := range steps {
		list[i] = s.change
	}
	done, err := w.f.b.db.Apply(ctx, w.f.store, handActor, list)
	switch {
	case err == nil:
		w.f.b.step("adopted")
		return w.accepted(ctx, steps, done.Versions)
	case errors.Is(err, memento.ErrNoSpace):
		drops := slices.DeleteFunc(slices.Clone(steps), func(s step) bool { return s.x.action != drop || s.from != nil })
		if len(drops) > 0 && len(drops) < len(steps) {
			err = errors.Join(w.commit(ctx, drops), err)
		}
		return err
	case !refused(err):
		return err
	case len(steps) == 1:
		return w.rejected(ctx, steps[0], err)
	}
	half := len(steps) / 2
	if err := w.commit(ctx, steps[:half]); err != nil {
		return err
	}
	return w.commit(ctx, steps[half:])
}

// accepted records what the database has made of steps.
func (w *work) accepted(ctx context.Context, steps []step, versions []memento.Version) error {
	newest := map[memento.Path]*memento.Version{}
	for i := range versions {
		newest[versions[i].Path] = &versions[i]
	}
	texts := map[string]string{}
	for _, s := range steps {
		if s.x.action == drop {
			w.changes.gone = append(w.changes.gone, s.x.path)
			continue
		}
		if s.from != nil {
			w.changes.gone = append(w.changes.gone, s.from.path)
		}
		if v := newest[s.x.path]; v != nil && w.unflushed[s.x.path] {
			w.f.setStale(s.x.path, true)
		} else if v != nil {
			w.changes.put = append(w.changes.put, s.x.managedRow(v.Memory, v.ID))
		}
		texts[s.x.hash] = s.x.text
	}
	for _, v := range versions {
		if v.Operation != memento.Deleted {
			text, known := texts[v.SHA256]
			if !known { // moved, then changed
				was, err := w.f.b.db.GetVersion(ctx, w.f.store, v.ID)
				if errors.Is(err, memento.ErrDamaged) {
					continue // it was only moved, and its text cannot be read
				}
				if err != nil {
					return err
				}
				text = was.Content
			}
			v.Content = text
		}
		w.f.adopted = append(w.f.adopted, v)
	}
	return nil
}

// rejected records what happens to a file that the database has refused.
func (w *work) rejected(ctx context.Context, s step, err error) error {
	if s.from != nil { // perhaps only one half of the move is refused
		if err := w.commit(ctx, []step{w.dropStep(s.from)}); err != nil {
			return err
		}
		return w.commit(ctx, []step{w.addStep(s.x)})
	}
	if s.x.action == drop {
		w.tasks = append(w.tasks, task{path: s.x.path, head: s.x.head})
		return nil
	}
	w.changes.put = append(w.changes.put, s.x.unmanagedRow(refusal(err)))
	return nil
}

// refusal says why the database has refused a file.
func refusal(err error) fileStatus {
	limit, _ := errors.AsType[*memento.LimitError](err)
	switch {
	case errors.Is(err, memento.ErrProtected):
		return fileStatus{withheld, "the store's settings make it read-only, so the contents of the file were not taken over"}
	case errors.Is(err, memento.ErrArchived):
		return fileStatus{withheld, "the store is archived, so the contents of the file were not taken over"}
	case limit != nil && limit.Limit == memento.LimitMemoryBytes:
		return tooLong(limit.Want, limit.Max)
	case limit != nil:
		return fileStatus{blocked, "the store takes no more: " + limit.Error()}
	case errors.Is(err, memento.ErrIsDir), errors.Is(err, memento.ErrNotDir), errors.Is(err, memento.ErrExist):
		return fileStatus{blocked, "a memory is in its way"}
	}
	return fileStatus{unreadable, "the store refused it"}
}
