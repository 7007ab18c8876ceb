package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"memento"
	"memento/exchange/foldersync"
)

// A syncPrinter prints what a sync does.
type syncPrinter struct {
	*app
	*syncFlags
	problems map[string]bool // that were printed already
	failed   error           // of writing to standard output

	done int            // number of actions
	show func(done int) // shows it on a terminal; nil without one
	hide func()
}

// A syncActionJSON is one thing that was done, or with --dry-run would be done.
type syncActionJSON struct {
	Type   string          `json:"type"` // "sync_action"
	Action foldersync.Kind `json:"action"`
	Path   memento.Path    `json:"path"`
	From   memento.Path    `json:"from,omitempty"` // of a rename
	Copy   memento.Path    `json:"copy,omitempty"` // of a conflict
	New    bool            `json:"new"`
	Kept   bool            `json:"kept"` // the other side had deleted the note
	Masked []string        `json:"masked,omitempty"`
	DryRun bool            `json:"dry_run,omitempty"`
}

// A syncProblemJSON is a note or a file that was left alone.
type syncProblemJSON struct {
	Type     string       `json:"type"` // "sync_problem"
	Path     memento.Path `json:"path,omitempty"`
	Name     string       `json:"file,omitempty"`
	Reason   string       `json:"reason"`
	Expected bool         `json:"expected"`
}

// A syncResultJSON is the result of a round.
type syncResultJSON struct {
	Type       string         `json:"type"` // "sync_result"
	Uploaded   int            `json:"uploaded"`
	Downloaded int            `json:"downloaded"`
	Merged     int            `json:"merged"`
	Conflicts  int            `json:"conflicts"`
	Deleted    int            `json:"deleted"`
	Renamed    int            `json:"renamed"`
	Notes      int            `json:"notes"`
	Problems   int            `json:"problems"`
	Pending    []memento.Path `json:"pending"`
	DryRun     bool           `json:"dry_run,omitempty"`
	Error      string         `json:"error,omitempty"`
}

// action prints an action. Uploads and downloads of a sync without --watch are only
// counted, because the first one has as many as there are notes.
func (p *syncPrinter) action(x foldersync.Action) {
	if p.json {
		j := syncActionJSON{Type: "sync_action", Action: x.Kind, Path: x.Path, From: x.From, Copy: x.Copy, New: x.New, Kept: x.Kept, DryRun: p.dryRun}
		for _, f := range x.Masked {
			j.Masked = append(j.Masked, f.Kind)
		}
		p.failed = cmp.Or(p.failed, p.writeJSON(j))
		return
	}
	if len(x.Masked) > 0 {
		p.hide()
		p.say("note: masked %s in the store's %s; the file keeps it", kindsOf(x.Masked), line(string(x.Path)))
	}
	plain := (x.Kind == foldersync.Upload || x.Kind == foldersync.Download) && !x.Kept
	p.done++
	if plain && !p.syncFlags.watch && !p.dryRun {
		if p.show != nil {
			p.show(p.done)
		}
		return
	}
	p.hide()
	p.say("%s", describeSync(&x, p.dryRun))
}

// describeSync returns what an action has done, or would do.
func describeSync(x *foldersync.Action, dryRun bool) string {
	path, from := line(string(x.Path)), line(string(x.From))
	did := func(do, done, rest string, args ...any) string {
		if dryRun {
			done = "would " + do
		}
		return done + fmt.Sprintf(" "+rest, args...)
	}
	switch x.Kind {
	case foldersync.Upload:
		if x.Kept {
			return did("keep", "kept", "%s: it was deleted in the store and changed in the folder", path)
		}
		return did("upload", "uploaded", "%s", path)
	case foldersync.Download:
		if x.Kept {
			return did("keep", "kept", "%s: it was deleted in the folder and changed in the store", path)
		}
		return did("download", "downloaded", "%s", path)
	case foldersync.Merge:
		return did("merge", "merged", "%s", path)
	case foldersync.Conflict:
		return did("keep", "kept", "both texts of %s, because they conflict: that of the folder is in %s", path, line(string(x.Copy)))
	case foldersync.DeleteInStore:
		return did("delete", "deleted", "%s in the store", path)
	case foldersync.DeleteInFolder:
		return did("delete", "deleted", "%s in the folder", path)
	case foldersync.RenameInStore:
		return did("rename", "renamed", "%s to %s in the store", from, path)
	}
	return did("rename", "renamed", "%s to %s in the folder", from, path)
}

// result prints the result of a sync, and returns an error if notes were not synced.
func (p *syncPrinter) result(r foldersync.Result) error {
	p.left(r.Problems)
	failure := syncFailure(&r)
	switch {
	case p.json:
		p.failed = cmp.Or(p.failed, p.writeJSON(p.resultJSON(&r, nil)))
	case r.Actions() > 0:
		p.say("%s", p.summary(&r))
	case failure == nil:
		p.say("both sides are the same")
	}
	return failure
}

// watched prints the result of a round of --watch, if there is anything to say.
func (p *syncPrinter) watched(r foldersync.Result, err error) {
	p.left(r.Problems)
	switch {
	case p.json && (err != nil || r.Actions() > 0):
		p.failed = cmp.Or(p.failed, p.writeJSON(p.resultJSON(&r, err)))
	case err != nil:
		p.warn(err)
	}
	p.failed = cmp.Or(p.failed, p.out.Flush())
}

func (p *syncPrinter) resultJSON(r *foldersync.Result, err error) syncResultJSON {
	j := syncResultJSON{
		Type: "sync_result", Uploaded: r.Uploaded, Downloaded: r.Downloaded, Merged: r.Merged, Conflicts: r.Conflicts, Deleted: r.Deleted,
		Renamed: r.Renamed, Notes: r.Same, Problems: len(r.Problems), Pending: append([]memento.Path{}, r.Pending...), DryRun: p.dryRun,
	}
	if err != nil {
		j.Error = printable(err.Error())
	}
	return j
}

// left prints what was left alone, each problem once. Files that nobody expects in a store
// are only counted.
func (p *syncPrinter) left(problems []foldersync.Problem) {
	others := 0
	for _, x := range problems {
		key := string(x.Path) + "\x00" + x.Name + "\x00" + x.Reason
		if p.problems[key] {
			continue
		}
		p.problems[key] = true
		switch {
		case p.json:
			p.failed = cmp.Or(p.failed, p.writeJSON(syncProblemJSON{Type: "sync_problem", Path: x.Path, Name: x.Name, Reason: printable(x.Reason), Expected: x.Expected}))
		case x.Expected:
			others++
		default:
			p.say("left alone: %s: %s", line(cmp.Or(x.Name, string(x.Path))), printable(x.Reason))
		}
	}
	if others > 0 {
		p.say("left alone: %s", plural(others, "other file or link", "other files and links"))
	}
}

// summary is the last line of a sync.
func (p *syncPrinter) summary(r *foldersync.Result) string {
	var parts []string
	for _, count := range []struct {
		n    int
		what string
	}{
		{r.Uploaded, "uploaded"}, {r.Downloaded, "downloaded"}, {r.Merged, "merged"}, {r.Renamed, "renamed"}, {r.Deleted, "deleted"},
	} {
		if count.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count.n, count.what))
		}
	}
	if r.Conflicts > 0 {
		parts = append(parts, plural(r.Conflicts, "conflict", "conflicts"))
	}
	if p.dryRun {
		return "would sync: " + strings.Join(parts, ", ")
	}
	return "synced: " + strings.Join(parts, ", ")
}

// syncFailure returns an error if notes were not synced, though they should have been.
func syncFailure(r *foldersync.Result) error {
	refused := 0
	var first error
	for _, x := range r.Problems {
		if x.Err != nil {
			refused++
			first = cmp.Or(first, x.Err)
		}
	}
	switch {
	case refused == 1:
		return fmt.Errorf("a note was not synced: %w", first)
	case refused > 1:
		return fmt.Errorf("%d notes were not synced, the first: %w", refused, first)
	case len(r.Pending) > 0:
		return hint(fmt.Errorf("%s changed all the time: %w", plural(len(r.Pending), "note", "notes"), errors.New("not synced")), "run the command again to complete the sync")
	}
	return nil
}
