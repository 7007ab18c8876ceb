package foldersync

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"memento"
	"memento/internal/lines"

	"golang.org/x/text/unicode/norm"
)

// both deals with a note that both sides have changed: it merges the changes, or keeps
// both texts.
func (r *round) both(v *view, p memento.Path) (again bool, err error) {
	f, m := v.files[p], v.memories[p]
	text, err := r.readFlushed(f)
	if err != nil {
		return false, err
	}
	got, err := r.fetch(p, m)
	if err != nil {
		return false, err
	}
	merged, ok := "", false
	if b, known := v.base[p]; known {
		was, err := r.state.content(b.row)
		if err != nil {
			return false, err
		}
		merged, ok = lines.Merge(was, text, got.Content)
	}
	if !ok || int64(len(merged)) > r.limits.MemoryBytes {
		return true, r.conflict(v, p, text, got)
	}
	return false, r.merge(v, p, text, got, merged)
}

// merge gives both sides the merged text.
func (r *round) merge(v *view, p memento.Path, text string, got memento.Memory, merged string) error {
	f, m := v.files[p], v.memories[p]
	a := Action{Kind: Merge, Path: p}
	if r.opts.DryRun {
		r.done(a)
		return nil
	}
	stored := got
	if merged != got.Content {
		// If the process ends before the file has the merged text, the next one must not
		// merge again: that could fail. Where the store masks, the file is not to get the
		// store's text, so it does merge again.
		found, err := r.store.Inspect(r.ctx, memento.Version{Path: p, Content: merged, SHA256: memento.HashContent(merged)})
		if err != nil {
			return err
		}
		if len(found) == 0 {
			if err := r.state.beginMerge(p, merging{f.sha, memento.HashContent(merged)}); err != nil {
				return err
			}
		}
		if stored, a.Masked, err = r.put(p, merged, &m); err != nil {
			return err
		}
		if len(a.Masked) == 0 {
			// The store has all changes of the file, so the file's text is a base.
			if err := r.state.set(p, text, f.sha, stored.ID); err != nil {
				return err
			}
		}
	}
	if merged != text {
		if err := r.folder.replace(p, f.name, f.sha, merged); err != nil {
			return err
		}
	}
	if err := r.state.set(p, stored.Content, memento.HashContent(merged), stored.ID); err != nil {
		return err
	}
	r.done(a)
	return nil
}

// maxCopies is how many conflict copies of one note one host can make on one day.
const maxCopies = 1000

// conflict keeps both texts: that of the file in a copy, and that of the memory at the
// path. The copy is a new file, which is uploaded by the next pass.
func (r *round) conflict(v *view, p memento.Path, text string, got memento.Memory) error {
	f := v.files[p]
	to, there := v.conflictCopy(p, f.sha)
	for n := 1; !there; n++ {
		to = conflictName(p, r.opts.Now(), r.opts.Host, n)
		if n > maxCopies {
			return fmt.Errorf("%w: there are too many conflict copies of it", memento.ErrInvalid)
		}
		if at(v.files, to) != nil || at(v.memories, to) != nil || at(v.base, to) != nil || v.isLeft(to) {
			continue
		}
		if r.opts.DryRun {
			break
		}
		err := r.folder.create(nameBeside(f.name, to), text)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		r.step("copy created")
		break
	}
	a := Action{Kind: Conflict, Path: p, Copy: to}
	if r.opts.DryRun {
		r.done(a)
		return nil
	}
	if err := r.folder.replace(p, f.name, f.sha, got.Content); err != nil {
		if !there { // the note is about to get another copy
			_ = r.folder.remove(to, nameBeside(f.name, to), f.sha)
		}
		return err
	}
	if err := r.state.set(p, got.Content, got.SHA256, got.ID); err != nil {
		return err
	}
	r.done(a)
	return nil
}

// conflictCopy returns a conflict copy of a note that has a text already: it was made
// before the process ended, or on another machine.
func (v *view) conflictCopy(p memento.Path, sha string) (memento.Path, bool) {
	start := string(p.Parent().Join(stemOf(p))) + conflictMark
	for q, f := range v.files {
		if f.sha == sha && strings.HasPrefix(string(q), start) {
			return q, true
		}
	}
	for q, m := range v.memories {
		if m.sha == sha && strings.HasPrefix(string(q), start) {
			return q, true
		}
	}
	return "", false
}

// conflictMark is in the names of conflict copies, after the stem of the note's name.
const conflictMark = " (conflict "

const (
	maxNameBytes = 255 // of one name, for most file systems
	maxHostBytes = 40
)

// stemOf returns the last name of a path without its extension, shortened so that there is
// room for the rest of the name of a conflict copy.
func stemOf(p memento.Path) string {
	stem := strings.TrimSuffix(p.Base(), extensionOf(p))
	room := maxNameBytes - len(conflictMark) - len("2026-11-22 ") - maxHostBytes - len(" 1000)") - len(extensionOf(p))
	return strings.TrimRight(shorten(stem, room), " ")
}

// extensionOf returns the extension of a path, with its dot, if it looks like one.
func extensionOf(p memento.Path) string {
	ext := path.Ext(p.Base())
	if len(ext) > 16 || ext == p.Base() || strings.Contains(ext, " ") {
		return ""
	}
	return ext
}

// conflictName returns the path of the conflict copy number n: "/a (conflict 2026-11-22
// laptop).md", "/a (conflict 2026-11-22 laptop 2).md".
func conflictName(p memento.Path, now time.Time, host string, n int) memento.Path {
	number := ""
	if n > 1 {
		number = fmt.Sprintf(" %d", n)
	}
	return p.Parent().Join(stemOf(p) + conflictMark + now.Format(time.DateOnly) + " " + cleanHost(host) + number + ")" + extensionOf(p))
}

// cleanHost returns a host's name as a part of a name.
func cleanHost(host string) string {
	host = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, norm.NFC.String(strings.ToValidUTF8(host, "-")))
	return shorten(host, maxHostBytes)
}

// shorten returns the beginning of a text, in whole characters.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// nameBeside returns the name on disk for a path in the same folder as the file name.
func nameBeside(name string, p memento.Path) string { return path.Join(path.Dir(name), p.Base()) }
