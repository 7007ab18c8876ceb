package foldersync

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"memento"
)

// A round is one call of Sync.
type round struct {
	*Syncer
	ctx     context.Context
	result  Result
	left    map[memento.Path]Problem // of the last pass, by path
	odd     []Problem                // of the last pass, without a path
	pending map[memento.Path]struct{}
}

// finish returns the result.
func (r *round) finish() Result {
	r.result.Problems = append(sortProblems(r.left), r.odd...)
	for p := range r.pending {
		r.result.Pending = append(r.result.Pending, p)
	}
	slices.Sort(r.result.Pending)
	return r.result
}

// A pass looks at both sides, and does once what there is to do. again reports whether
// something changed meanwhile, or is new.
func (r *round) pass() (again bool, err error) {
	v, err := r.look()
	if err != nil {
		return false, err
	}
	r.left, r.odd, r.pending = v.left, v.odd, map[memento.Path]struct{}{}
	for p, f := range v.files {
		if f.hot {
			v.drop(p)
			r.pending[p] = struct{}{}
		}
	}
	if err := r.rename(v); err != nil {
		return false, err
	}
	tasks := v.plan()
	if err := r.guard(v, tasks); err != nil {
		return false, err
	}
	r.result.Same = len(v.files)
	waited := false
	for _, t := range tasks {
		if err := r.ctx.Err(); err != nil {
			return false, err
		}
		if t.choice == removeOut && !waited && !r.opts.DryRun {
			// Some programs remove a file before they write its new text.
			if err := r.pause(r.settling); err != nil {
				return false, err
			}
			waited = true
		}
		more, err := r.do(v, t)
		if err = r.sort(t.path, err); err != nil {
			return false, err
		}
		again = again || more
	}
	return again || len(r.pending) > 0, nil
}

// rename makes the renames of one side on the other one, and in the view.
func (r *round) rename(v *view) error {
	for {
		list := v.renames()
		if len(list) == 0 {
			return nil
		}
		for _, x := range list {
			if err := r.ctx.Err(); err != nil {
				return err
			}
			err := r.renameOne(v, x)
			if err == nil {
				continue
			}
			refused := isRefusal(err)
			if err := r.sort(x.to, err); err != nil {
				return err
			}
			if refused {
				r.left[x.from] = Problem{Path: x.from, Reason: reasonOf(err), Err: err}
			}
			for _, p := range []memento.Path{x.from, x.to, x.file} {
				v.drop(p)
			}
		}
	}
}

func (r *round) renameOne(v *view, x rename) error {
	name := v.files[x.file].name
	a := Action{Path: x.to, From: x.from}
	switch x.where {
	case inFolder:
		a.Kind = RenameInStore
		if !r.opts.DryRun {
			if err := r.folder.flush(name); err != nil {
				return err
			}
			if _, err := r.store.Apply(r.ctx, r.opts.Actor, memento.Move{From: x.from, To: x.to, If: memento.IfVersion(v.memories[x.from].version)}); err != nil {
				return err
			}
			r.step("memory renamed")
			// The version is a new one.
			m, err := r.store.Peek(r.ctx, memento.ByPath(x.to))
			if err != nil {
				return err
			}
			v.memories[x.from] = memory{m.ID, m.Version, m.SHA256}
		}
		v.memories[x.to] = v.memories[x.from]
		delete(v.memories, x.from)
	case inStore:
		a.Kind = RenameInFolder
		to := v.nameOf(x.to)
		if !r.opts.DryRun {
			if err := r.folder.rename(name, to); err != nil {
				return err
			}
			r.folder.removeEmptied(name)
		}
		f := v.files[x.file]
		f.name = to
		delete(v.files, x.file)
		v.files[x.to] = f
	}
	b := v.base[x.from]
	delete(v.base, x.from)
	if !r.opts.DryRun {
		if err := r.state.move(x.from, x.to); err != nil {
			return err
		}
		b.row = x.to
	}
	v.base[x.to] = b
	if x.where != inBoth {
		r.done(a)
	}
	return nil
}

// guard returns ErrManyDeletions if the tasks delete more than usual.
func (r *round) guard(v *view, tasks []task) error {
	const few = 10
	in, out := 0, 0
	for _, t := range tasks {
		switch t.choice {
		case removeIn:
			in++
		case removeOut:
			out++
		}
	}
	for _, n := range []int{in, out} {
		if n > few && n > len(v.base)/2 && !r.opts.Force {
			return manyDeletions(in, out, len(v.base))
		}
	}
	return nil
}

// done reports an action and counts it.
func (r *round) done(a Action) {
	r.result.count(a.Kind)
	r.opts.Report(a)
}

// sort decides what an error of a task means: it is returned if it is about more than one
// note. Otherwise the note is left alone, or looked at again.
func (r *round) sort(p memento.Path, err error) error {
	switch {
	case err == nil:
		return nil
	case isRace(err):
		r.pending[p] = struct{}{}
		return nil
	case isRefusal(err):
		r.left[p] = Problem{Path: p, Reason: reasonOf(err), Err: err}
		return nil
	}
	return fault(p, err)
}

// isRace reports whether an error says that something has changed since it was looked at.
func isRace(err error) bool {
	for _, is := range []error{errChanged, memento.ErrConflict, fs.ErrExist, fs.ErrNotExist, memento.ErrUncertain} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// isRefusal reports whether an error is about one note.
func isRefusal(err error) bool {
	for _, is := range []error{
		memento.ErrTooLarge, memento.ErrSensitive, memento.ErrNoDetector, memento.ErrProtected, memento.ErrInvalid, memento.ErrInvalidPath,
		memento.ErrForeign, memento.ErrIsDir, memento.ErrNotDir, memento.ErrDamaged, memento.ErrDecrypt, errInTheWay, errNotText, fs.ErrPermission,
	} {
		if errors.Is(err, is) {
			return true
		}
	}
	// The file system refuses a name, or something else is in its place.
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return !isFull(err)
	}
	_, ok := errors.AsType[*os.LinkError](err)
	return ok && !isFull(err)
}

// reasonOf returns the reason of a problem.
func reasonOf(err error) string {
	if at, ok := errors.AsType[*memento.Error](err); ok {
		return at.Err.Error()
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err.Error()
	}
	return err.Error()
}

// settle deletes displaced files that nobody has changed. Of the others it makes conflict
// copies: another program had opened the file before it was displaced.
func (r *round) settle() (found bool, err error) {
	list := r.folder.displaced
	r.folder.displaced = nil
	for _, x := range list {
		if err := r.pause(time.Until(x.at.Add(r.settling))); err != nil {
			return found, err
		}
		r.step("settle")
		copied, err := r.release(x, x.old)
		if err != nil {
			return found, err
		}
		found = found || copied
	}
	return found, nil
}

// recover deals with the displaced files that an earlier process has left.
func (r *round) recover() error {
	for _, x := range r.state.moved {
		sha, err := r.hashOf(x.temp)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = r.state.forget(x.temp)
		case err == nil && sha == x.old && x.new != "" && r.folder.absent(x.name):
			// The process ended before the new text was in place.
			if err = r.folder.moveNew(x.temp, x.name); err == nil {
				err = r.state.forget(x.temp)
			}
		case err == nil && sha == x.new:
			_, err = r.release(x, x.new)
		case err == nil:
			_, err = r.release(x, x.old)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hashOf returns the hash of a temporary file; "" if it is no text any more.
func (r *round) hashOf(temp string) (string, error) {
	text, err := r.folder.read(temp)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", err
	case err != nil:
		return "", nil
	}
	return memento.HashContent(text), nil
}

// release deletes a temporary file if it has the text that it should have. Otherwise it
// becomes a conflict copy, or gets its old name if that is free.
func (r *round) release(x displaced, want string) (copied bool, err error) {
	sha, err := r.hashOf(x.temp)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, r.state.forget(x.temp)
	case err != nil:
		return false, err
	case sha == want:
		if err := r.folder.root.Remove(x.temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		r.folder.removeEmptied(x.name)
		return false, r.state.forget(x.temp)
	}
	if x.new == "" && r.folder.moveNew(x.temp, x.name) == nil {
		return true, r.state.forget(x.temp)
	}
	for n := 1; ; n++ {
		to := conflictName(x.path, r.opts.Now(), r.opts.Host, n)
		err := r.folder.moveNew(x.temp, nameBeside(x.name, to))
		if errors.Is(err, fs.ErrExist) && n < maxCopies {
			continue
		}
		if err != nil {
			return false, err
		}
		r.done(Action{Kind: Conflict, Path: x.path, Copy: to})
		return true, r.state.forget(x.temp)
	}
}
