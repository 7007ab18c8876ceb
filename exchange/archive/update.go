package archive

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"memento"
	"memento/internal/notefiles"
)

// UpdateOptions are the options of [UpdateFolder]; nil means all defaults.
type UpdateOptions struct {
	// Overwrite replaces files that were changed since they were exported, and files that
	// are no export's.
	Overwrite bool
	// Delete removes all notes that are not in the store: visible files of text.
	Delete bool
	// Progress, if not nil, is called after each memory with the number looked at so far,
	// and the total.
	Progress func(done, total int)
}

// Updated says what UpdateFolder did. Summary is about all memories, written or not.
type Updated struct {
	Summary
	Written, Removed, Unchanged int // files
}

// An InWayError names files that UpdateFolder would have to replace without knowing that
// they are its own. Nothing was changed. It is memento.ErrExist.
type InWayError struct {
	Names []string // with slashes; at most 1,000
	Total int
}

func (e *InWayError) Error() string {
	if e.Total == 1 {
		return "1 file is in the way; nothing was changed"
	}
	return fmt.Sprintf("%d files are in the way; nothing was changed", e.Total)
}

func (e *InWayError) Unwrap() error { return memento.ErrExist }

// UpdateFolder makes the files in the folder dir those of the store. A folder that is new
// or empty is written as by [WriteFolder]. In any other, files that an earlier call has
// written, as a hidden file in the folder says, are replaced, or removed if their memory
// is gone, unless they were changed since. Files of others stay. If one is where a memory
// belongs, with other contents, nothing is changed.
//
// Files are replaced one by one, each completely. After an error or a crash, another call
// continues.
//
// Errors: [InWayError]; ErrInvalid for a path that the file system cannot hold; those of
// WriteFolder.
func UpdateFolder(ctx context.Context, dir string, store *memento.Store, opts *UpdateOptions) (Updated, error) {
	var o UpdateOptions
	if opts != nil {
		o = *opts
	}
	if o.Progress == nil {
		o.Progress = func(int, int) {}
	}
	info, err := store.Info(ctx)
	if err != nil {
		return Updated{}, err
	}
	exported := record{}
	sum, err := writeFolder(ctx, dir, store, func(done int) { o.Progress(done, int(info.Usage.Memories)) }, exported.add)
	fresh := err == nil
	if err != nil && !errors.Is(err, ErrNotEmpty) {
		return Updated{}, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Updated{}, err
	}
	defer root.Close()
	if fresh {
		return Updated{Summary: sum, Written: sum.Memories}, exported.write(root, info.ID)
	}
	u := updater{opts: o, root: root, before: readRecord(root, info.ID), plans: map[memento.Path]filePlan{}, removals: map[memento.Path]bool{}}
	if err := u.plan(ctx, store); err != nil {
		return Updated{}, err
	}
	if err := u.run(ctx, store, info.ID); err != nil {
		return Updated{}, err
	}
	return u.done, nil
}

// A record says with which hashes files were exported: usually one each, two while a
// folder is being updated.
type record map[memento.Path][]string

// recordName is hidden, so that it is neither imported nor shown.
const recordName = ".memento-export"

type recordLine struct {
	Format int             `json:"format,omitempty"` // of the first line: 1
	Store  memento.StoreID `json:"store,omitempty"`  // likewise
	Path   memento.Path    `json:"path,omitempty"`
	SHA256 string          `json:"sha256,omitempty"`
}

func (r record) add(p memento.Path, content string) {
	r[p] = append(r[p], memento.HashContent(content))
}

// readRecord returns what was exported to the folder from a store; nothing if it is not
// known. Without a record no file is removed or replaced.
func readRecord(root *os.Root, store memento.StoreID) record {
	const most = 64 << 20
	r := record{}
	text, err := notefiles.Read(root, recordName, most)
	if err != nil {
		return r
	}
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for first := true; lines.Scan(); first = false {
		var l recordLine
		if json.Unmarshal(lines.Bytes(), &l) != nil || first && (l.Format != 1 || l.Store != store) {
			return record{}
		}
		if _, err := memento.ParsePath(string(l.Path)); err == nil && !first {
			r[l.Path] = append(r[l.Path], l.SHA256)
		}
	}
	return r
}

func (r record) write(root *os.Root, store memento.StoreID) error {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	_ = out.Encode(recordLine{Format: 1, Store: store})
	for _, p := range slices.Sorted(maps.Keys(r)) {
		for _, hash := range r[p] {
			_ = out.Encode(recordLine{Path: p, SHA256: hash})
		}
	}
	return replaceFile(root, recordName, b.String())
}

// replaceFile writes a file completely or not at all.
func replaceFile(root *os.Root, name, text string) error {
	temp := path.Join(path.Dir(name), ".memento-export-"+path.Base(memento.HashContent(name))[:16]+".tmp")
	_ = root.Remove(temp) // of a process that died
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
	}
	return err
}

// A filePlan says what is done about the file of a memory.
type filePlan struct {
	hash  string // of the memory
	write bool
	isNew bool // nothing has its name yet
}

// An updater updates one folder.
type updater struct {
	opts     UpdateOptions
	root     *os.Root
	before   record
	plans    map[memento.Path]filePlan
	removals map[memento.Path]bool
	done     Updated
}

// plan looks at the folder, and changes nothing.
func (u *updater) plan(ctx context.Context, store *memento.Store) error {
	var memories []memento.Memory
	for e, err := range store.List(ctx, memento.ListOptions{}) {
		if err == nil && !e.Foreign {
			err = checkNames(e.Path, runtime.GOOS)
		}
		if err != nil {
			return err
		}
		if e.Foreign {
			u.done.skip(e)
			continue
		}
		memories = append(memories, e.Memory)
		u.plans[e.Path] = filePlan{hash: e.Memory.SHA256}
	}
	if err := u.planRemovals(ctx); err != nil {
		return err
	}
	inWay := &InWayError{}
	for i, m := range memories {
		if err := ctx.Err(); err != nil {
			return err
		}
		p, blocked, err := u.planFile(m)
		if err != nil {
			return err
		}
		if blocked != "" {
			if inWay.Total++; len(inWay.Names) < 1000 && !slices.Contains(inWay.Names, blocked) {
				inWay.Names = append(inWay.Names, blocked)
			}
		}
		u.plans[m.Path] = p
		u.opts.Progress(i+1, len(memories))
	}
	if inWay.Total > 0 {
		return inWay
	}
	return nil
}

func (u *updater) planRemovals(ctx context.Context) error {
	for p, hashes := range u.before {
		if _, stays := u.plans[p]; stays {
			continue
		}
		hash, err := u.hashOf(string(p[1:]), -1)
		switch {
		case err != nil || hash == "":
		case slices.Contains(hashes, hash), u.opts.Delete:
			u.removals[p] = true
		default:
			u.done.Skipped = append(u.done.Skipped, Skipped{string(p[1:]), "its memory was removed, but the file was changed since it was exported"})
		}
	}
	if !u.opts.Delete {
		return nil
	}
	return notefiles.Walk(ctx, u.root, &notefiles.Rules{}, func(f notefiles.File) error {
		if _, stays := u.plans[f.Path]; f.Left != "" || stays || f.Name != string(f.Path[1:]) {
			return nil
		}
		if _, err := notefiles.Read(u.root, f.Name, maxHashed); err == nil {
			u.removals[f.Path] = true
		}
		return nil
	})
}

// maxHashed is the size in bytes up to which files are compared. No memory is larger.
const maxHashed = 64 << 20

// hashOf returns the hash of a file's contents; "" if it is not a plain file of text, or
// does not have the size, unless that is negative.
func (u *updater) hashOf(name string, size int64) (string, error) {
	info, err := u.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || size >= 0 && info.Size() != size {
		return "", err
	}
	text, err := notefiles.Read(u.root, name, maxHashed)
	if errors.Is(err, notefiles.ErrNotText) || errors.Is(err, memento.ErrTooLarge) {
		return "", nil
	}
	return memento.HashContent(text), err
}

// planFile returns what to do about the file of a memory, and the name of what is in its
// way.
func (u *updater) planFile(m memento.Memory) (p filePlan, blocked string, err error) {
	p.hash = m.SHA256
	for dir := range m.Path.Ancestors() {
		info, err := u.root.Lstat(string(dir[1:]))
		switch {
		case isMissing(err):
			continue
		case err != nil:
			return p, "", err
		case !info.IsDir() && !u.removals[dir]:
			return p, string(dir[1:]), nil
		}
	}
	name := string(m.Path[1:])
	info, err := u.root.Lstat(name)
	switch {
	case isMissing(err):
		p.write, p.isNew = true, true
		return p, "", nil
	case err != nil:
		return p, "", err
	case info.IsDir():
		p.write, p.isNew = true, true
		if !u.isRemoved(name) {
			return p, name, nil
		}
		return p, "", nil
	}
	hash, err := u.hashOf(name, -1)
	switch {
	case err != nil:
		return p, "", err
	case hash != "" && hash == m.SHA256:
		return p, "", nil
	}
	p.write = true
	if !u.opts.Overwrite && (hash == "" || !slices.Contains(u.before[m.Path], hash)) {
		return p, name, nil
	}
	return p, "", nil
}

func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// isRemoved reports whether everything in a folder is to be removed.
func (u *updater) isRemoved(name string) bool {
	err := fs.WalkDir(u.root.FS(), name, func(at string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !u.removals[memento.Path("/"+at)] {
			err = fs.ErrExist
		}
		return err
	})
	return err == nil
}

// run carries out the plan.
func (u *updater) run(ctx context.Context, store *memento.Store, id memento.StoreID) error {
	// If this is cut off, both the old and the new contents are known as exported.
	during, after := maps.Clone(u.before), record{}
	for p, plan := range u.plans {
		during[p] = append(slices.Clone(during[p]), plan.hash)
	}
	if err := during.write(u.root, id); err != nil {
		return err
	}
	for _, p := range slices.Sorted(maps.Keys(u.removals)) {
		if err := u.remove(p); err != nil {
			return err
		}
	}
	for e, err := range store.List(ctx, memento.ListOptions{Contents: true}) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		plan, planned := u.plans[e.Path]
		if e.Foreign || !planned { // made since: the next call writes it
			continue
		}
		u.done.Memories++
		u.done.Bytes += e.Memory.Size
		if !plan.write {
			u.done.Unchanged++
			after[e.Path] = []string{plan.hash}
			continue
		}
		if err := u.write(e.Path, plan, e.Memory.Content); err != nil {
			return err
		}
		after.add(e.Path, e.Memory.Content)
		u.done.Written++
		u.opts.Progress(u.done.Memories, len(u.plans))
	}
	return after.write(u.root, id)
}

// remove removes a file, and the folders that are empty by that.
func (u *updater) remove(p memento.Path) error {
	if err := u.root.Remove(string(p[1:])); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	u.done.Removed++
	for dir := range p.Ancestors() {
		if u.root.Remove(string(dir[1:])) != nil {
			break // it is not empty
		}
	}
	return nil
}

func (u *updater) write(p memento.Path, plan filePlan, content string) error {
	name := string(p[1:])
	if dir := path.Dir(name); dir != "." {
		if err := u.root.MkdirAll(dir, 0o700); err != nil {
			return cannotHold(p, err)
		}
	}
	if plan.isNew {
		// Another memory's file, on a file system that takes two names for one.
		if _, err := u.root.Lstat(name); err == nil {
			return cannotHold(p, fs.ErrExist)
		}
	}
	if err := replaceFile(u.root, name, content); err != nil {
		return cannotHold(p, err)
	}
	return nil
}
