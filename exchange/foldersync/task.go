package foldersync

import (
	"errors"
	"fmt"
	"syscall"

	"memento"
	"memento/internal/notefiles"
)

var errNotText = errors.New("it is not text that a file could have")

func manyDeletions(in, out, of int) error {
	where, n := "folder", in
	if out > in {
		where, n = "store", out
	}
	return fmt.Errorf("%w: %d of %d notes would be deleted in the %s", ErrManyDeletions, n, of, where)
}

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EIO)
}

// do carries out a task. again reports whether there is something new to look at.
func (r *round) do(v *view, t task) (again bool, err error) {
	switch t.choice {
	case advance:
		return false, r.advance(v, t.path)
	case forget:
		if r.opts.DryRun {
			return false, nil
		}
		return false, r.state.remove(t.path)
	case upload:
		return false, r.upload(v, t)
	case download:
		return false, r.download(v, t)
	case removeOut:
		return false, r.removeOut(v, t.path)
	case removeIn:
		return false, r.removeIn(v, t.path)
	}
	return r.both(v, t.path)
}

// advance makes the text that both sides have the base.
func (r *round) advance(v *view, p memento.Path) error {
	if r.opts.DryRun {
		return nil
	}
	f := v.files[p]
	text, err := r.readFlushed(f)
	if err != nil {
		return err
	}
	return r.state.set(p, text, f.sha, v.memories[p].id)
}

// readFlushed returns the text of a file, which a power cut cannot take any more.
func (r *round) readFlushed(f file) (string, error) {
	text, err := r.folder.readAs(f.name, f.sha)
	if err != nil {
		return "", err
	}
	return text, r.folder.flush(f.name)
}

// upload writes the text of a file to the store.
func (r *round) upload(v *view, t task) error {
	f, m := v.files[t.path], at(v.memories, t.path)
	a := Action{Kind: Upload, Path: t.path, New: m == nil, Kept: t.kept}
	if r.opts.DryRun {
		r.done(a)
		return nil
	}
	text, err := r.readFlushed(f)
	if err != nil {
		return err
	}
	stored, masked, err := r.put(t.path, text, m)
	if err != nil {
		return err
	}
	if err := r.state.set(t.path, stored.Content, f.sha, stored.ID); err != nil {
		return err
	}
	a.Masked = masked
	r.done(a)
	return nil
}

// put writes a text to the store on condition that the memory is still m; nil if there was
// none. It returns the memory with its text, which can be masked.
func (r *round) put(p memento.Path, text string, m *memory) (stored memento.Memory, masked []memento.FindingLocation, err error) {
	c := memento.Put{Path: p, Content: text, If: memento.IfAbsent()}
	if m != nil {
		c.If = memento.IfVersion(m.version)
		stored.ID, stored.Version = m.id, m.version
	}
	receipt, err := r.store.Apply(r.ctx, r.opts.Actor, c)
	if err != nil {
		return stored, nil, err
	}
	r.step("memory written")
	sha := memento.HashContent(text)
	for _, made := range receipt.Versions {
		stored.ID, stored.Version = made.Memory, made.ID
		if made.SHA256 == sha && len(receipt.Masked) == 0 {
			stored.Content, stored.SHA256 = text, sha
			return stored, nil, nil
		}
	}
	// Something was masked.
	stored, err = r.store.Peek(r.ctx, memento.ByID(stored.ID))
	return stored, receipt.Masked, err
}

// fetch returns a memory with its text, if that is still the one of the view.
func (r *round) fetch(p memento.Path, m memory) (memento.Memory, error) {
	got, err := r.store.Peek(r.ctx, memento.ByPath(p))
	switch {
	case err != nil:
		return got, err
	case got.Version != m.version || got.SHA256 != m.sha:
		return got, errChanged
	case !notefiles.IsText([]byte(got.Content)):
		return got, errNotText
	}
	return got, nil
}

// download writes the text of a memory to the folder.
func (r *round) download(v *view, t task) error {
	f, m := at(v.files, t.path), v.memories[t.path]
	a := Action{Kind: Download, Path: t.path, New: f == nil, Kept: t.kept}
	if r.opts.DryRun {
		r.done(a)
		return nil
	}
	got, err := r.fetch(t.path, m)
	if err != nil {
		return err
	}
	if err := r.write(v, t.path, f, got.Content); err != nil {
		return err
	}
	if err := r.state.set(t.path, got.Content, got.SHA256, got.ID); err != nil {
		return err
	}
	r.done(a)
	return nil
}

// write writes a text to the folder on condition that the file is still f; nil if there
// was none.
func (r *round) write(v *view, p memento.Path, f *file, text string) error {
	if f == nil {
		return r.folder.create(v.nameOf(p), text)
	}
	return r.folder.replace(p, f.name, f.sha, text)
}

// removeOut removes a memory whose file was removed.
func (r *round) removeOut(v *view, p memento.Path) error {
	a := Action{Kind: DeleteInStore, Path: p}
	if r.opts.DryRun {
		r.done(a)
		return nil
	}
	if err := r.folder.checkPresent(); err != nil {
		return fault(p, errors.New(err.Error()))
	}
	if !r.folder.absent(v.nameOf(p)) {
		return errChanged
	}
	if _, err := r.store.Apply(r.ctx, r.opts.Actor, memento.Remove{Path: p, If: memento.IfVersion(v.memories[p].version)}); err != nil {
		return err
	}
	r.step("memory removed")
	if err := r.state.remove(p); err != nil {
		return err
	}
	r.done(a)
	return nil
}

// removeIn removes a file whose memory was removed.
func (r *round) removeIn(v *view, p memento.Path) error {
	a := Action{Kind: DeleteInFolder, Path: p}
	if r.opts.DryRun {
		r.done(a)
		return nil
	}
	f := v.files[p]
	if err := r.folder.remove(p, f.name, f.sha); err != nil {
		return err
	}
	if err := r.state.remove(p); err != nil {
		return err
	}
	r.done(a)
	return nil
}
