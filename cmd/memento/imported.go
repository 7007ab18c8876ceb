package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"memento"
	"memento/exchange/importer"
)

// importJSON is the report of an import of notes.
type importJSON struct {
	Type      string          `json:"type"` // "memory_import"
	Format    importer.Format `json:"format"`
	DryRun    bool            `json:"dry_run,omitempty"`
	Memories  int             `json:"memories"` // created, replaced or unchanged; 0 if nothing was changed because of problems
	Created   int             `json:"created"`
	Replaced  int             `json:"replaced"`
	Unchanged int             `json:"unchanged"`
	Versions  int             `json:"versions"` // of a history: always 0 here
	Bytes     int64           `json:"bytes"`
	LeftOut   leftOutJSON     `json:"left_out"`
	Problems  []problemJSON   `json:"problems"`
	More      int             `json:"more_problems,omitempty"` // problems that are not listed
	Masked    map[string]int  `json:"masked,omitempty"`        // by kind
	Marked    map[string]int  `json:"marked,omitempty"`        // by kind
}

type leftOutJSON struct {
	Hidden   int            `json:"hidden"`
	Excluded int            `json:"excluded"`
	Links    int            `json:"links"`
	NotText  map[string]int `json:"not_text"` // by extension
}

type problemJSON struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// imported reports an import of notes: what it left out, its problems and, if it was
// done, what it did.
func (a *app) imported(res *importer.Result, opts *importer.Options, done bool) error {
	if a.json {
		j := importJSON{
			Type: "memory_import", Format: res.Format, DryRun: opts.DryRun,
			Memories: res.Created + res.Replaced + res.Unchanged, Created: res.Created, Replaced: res.Replaced, Unchanged: res.Unchanged,
			Bytes:    res.Bytes,
			LeftOut:  leftOutJSON{res.Hidden, res.Excluded, res.Links, res.Other},
			Problems: []problemJSON{}, More: res.MoreProblems, Masked: res.Masked, Marked: res.Marked,
		}
		if j.LeftOut.NotText == nil {
			j.LeftOut.NotText = map[string]int{}
		}
		for _, p := range res.Problems {
			j.Problems = append(j.Problems, problemJSON{p.Name, p.Reason})
		}
		return a.writeJSON(j)
	}
	if text := leftOut(res); text != "" {
		a.say("left alone: %s", text)
	}
	if res.Format != importer.FormatNotes {
		a.say("read as %s%s", res.Format, formatNote(res.Format))
	}
	for _, p := range res.Problems {
		a.say("cannot import %s: %s", line(p.Name), line(p.Reason))
	}
	if res.MoreProblems > 0 {
		a.say("and %s more", plural(res.MoreProblems, "problem", "problems"))
	}
	if !done {
		return nil
	}
	for _, kind := range slices.Sorted(maps.Keys(res.Marked)) {
		a.say("note: marked %s in %s", kind, plural(res.Marked[kind], "place", "places"))
	}
	for _, kind := range slices.Sorted(maps.Keys(res.Masked)) {
		a.say("note: masked %s in %s", kind, plural(res.Masked[kind], "place", "places"))
	}
	verb := "imported"
	if opts.DryRun {
		verb = "dry run: would import"
	}
	a.say("%s %s", verb, importedText(res))
	a.noteLimits(res)
	return nil
}

func formatNote(f importer.Format) string {
	if f == importer.FormatMemoryTool {
		return `: what is in "memories" becomes the root of the store; --format notes keeps the folder`
	}
	return "; --format notes imports the file as it is"
}

// importedText is as in "12 memories (4.0K), 2 of them replaced, and left 100 unchanged".
func importedText(res *importer.Result) string {
	n := res.Created + res.Replaced
	text := fmt.Sprintf("%s (%s)", plural(n, "memory", "memories"), humanSize(res.Bytes))
	if res.Replaced > 0 {
		text += fmt.Sprintf(", of which %d replaced others", res.Replaced)
	}
	if res.Unchanged > 0 {
		text += fmt.Sprintf("; %d unchanged", res.Unchanged)
	}
	if problems := len(res.Problems) + res.MoreProblems; problems > 0 {
		text += fmt.Sprintf("; %d not imported", problems)
	}
	return text
}

// leftOut is as in "2 hidden, 1 link, 12 not text (10 .png, 2 .pdf)".
func leftOut(res *importer.Result) string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(res.Hidden, "hidden")
	add(res.Excluded, "excluded")
	if res.Links > 0 {
		parts = append(parts, plural(res.Links, "link or special file", "links or special files"))
	}
	const most = 5
	total := 0
	var kinds []string
	for _, ext := range slices.SortedFunc(maps.Keys(res.Other), func(x, y string) int {
		if res.Other[x] != res.Other[y] {
			return res.Other[y] - res.Other[x]
		}
		return strings.Compare(x, y)
	}) {
		total += res.Other[ext]
		if len(kinds) < most {
			kinds = append(kinds, fmt.Sprintf("%d %s", res.Other[ext], line(ext)))
		}
	}
	if len(res.Other) > most {
		kinds = append(kinds, "…")
	}
	if total > 0 {
		parts = append(parts, fmt.Sprintf("%d not text (%s)", total, strings.Join(kinds, ", ")))
	}
	return strings.Join(parts, ", ")
}

// noteLimits prints a note if a limit of the store is nearly used up.
func (a *app) noteLimits(res *importer.Result) {
	for _, l := range []struct {
		used, limit int64
		text        string
	}{
		{res.Usage.Memories, res.Limits.Memories, fmt.Sprintf("%d of %d memories", res.Usage.Memories, res.Limits.Memories)},
		{res.Usage.Bytes, res.Limits.Bytes, fmt.Sprintf("%s of %s", humanSize(res.Usage.Bytes), humanSize(res.Limits.Bytes))},
	} {
		if l.limit > 0 && memento.NearLimit(l.used, l.limit) {
			a.say(`note: the store has %s, %d %% of its limit; "memento stores limits" raises it`, l.text, int64(float64(l.used)/float64(l.limit)*100))
		}
	}
}

// problemsHint says what can be done about problems.
func (a *app) problemsHint(res *importer.Result) string {
	exist, large := false, false
	for _, p := range res.Problems {
		exist = exist || errors.Is(p.Err, memento.ErrExist)
		large = large || errors.Is(p.Err, memento.ErrTooLarge)
	}
	var hints []string
	if exist {
		hints = append(hints, "to replace existing memories, add --overwrite")
	}
	if large {
		hints = append(hints, `to allow larger memories, use "memento stores limits --max-memory-bytes"`)
	}
	return strings.Join(append(hints, "to leave these files out, add --partial"), "; ")
}
