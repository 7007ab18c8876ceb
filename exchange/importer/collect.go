package importer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"memento"
	"memento/internal/notefiles"
)

// A note is a text that is to become a memory.
type note struct {
	name string // in the source
	path memento.Path
	text string
}

// A collector gathers the notes of a source.
type collector struct {
	opts   Options
	limits memento.Limits
	res    *Result
	notes  []note
	left   int64 // of opts.MaxBytes

	count, bytes int64 // of all notes; those beyond the limits of the store are not kept
	files        int   // looked at
}

// collect reads the source. Its errors are those of the source as a whole.
func (c *collector) collect(ctx context.Context, s *Source) error {
	rules := &notefiles.Rules{Exclude: c.opts.Exclude, Hidden: c.opts.Hidden, MaxBytes: c.limits.MemoryBytes}
	c.left = c.opts.MaxBytes
	var err error
	if f := c.res.Format; f.isDocument() {
		err = c.document(ctx, s, f)
	} else {
		err = s.walk(ctx, rules, c.opts.MaxBytes, c.visit)
	}
	if err != nil {
		return err
	}
	c.stripMemories()
	slices.SortStableFunc(c.notes, func(a, b note) int { return strings.Compare(string(a.path), string(b.path)) })
	return nil
}

func (c *collector) visit(f notefiles.File, read func(most int64) (string, error)) error {
	c.files++
	if c.opts.Progress != nil {
		c.opts.Progress(c.files, 0)
	}
	switch f.Left {
	case notefiles.Hidden:
		c.res.Hidden++
		return nil
	case notefiles.Excluded:
		c.res.Excluded++
		return nil
	case notefiles.NotRegular:
		c.res.Links++
		return nil
	case notefiles.BadName:
		c.res.problem(f.Name, memento.ErrInvalidPath, "its name is not a valid path: %s", notefiles.NameFault(f.Name))
		return nil
	case notefiles.SameName:
		c.res.problem(f.Name, memento.ErrExist, "another file has the same name, or the same in another Unicode form")
		return nil
	case notefiles.Unreadable:
		c.res.problem(f.Name, f.Err, "it cannot be read: %v", f.Err)
		return nil
	}
	text, err := read(c.limits.MemoryBytes)
	switch whole, ends := errors.AsType[fatal](err); {
	case ends:
		return whole.error
	case errors.Is(err, notefiles.ErrNotText):
		if c.res.Other == nil {
			c.res.Other = map[string]int{}
		}
		if ext := extension(f.Name); len(c.res.Other) < MaxProblems {
			c.res.Other[ext]++
		} else {
			c.res.Other["others"]++
		}
		return nil
	case errors.Is(err, memento.ErrTooLarge), f.Left == notefiles.TooLarge:
		c.res.problem(f.Name, memento.ErrTooLarge, "it is larger than a memory of this store can be, %d bytes", c.limits.MemoryBytes)
		return nil
	case err != nil:
		c.res.problem(f.Name, err, "%v", err)
		return nil
	}
	return c.add(f.Name, f.Path, text)
}

// add keeps a note, unless the store cannot hold it in any case.
func (c *collector) add(name string, p memento.Path, text string) error {
	if c.left -= int64(len(text)); c.left < 0 {
		return errTooMuch
	}
	if into := c.opts.Into; into != "" && !into.IsRoot() {
		p = into.Join(string(p[1:]))
	}
	switch {
	case int64(len(p)) > c.limits.PathBytes:
		c.res.problem(name, memento.ErrTooLarge, "its path has %d bytes; at most %d are allowed", len(p), c.limits.PathBytes)
		return nil
	case int64(p.Depth()) > c.limits.PathDepth:
		c.res.problem(name, memento.ErrTooLarge, "its path has %d names; at most %d are allowed", p.Depth(), c.limits.PathDepth)
		return nil
	}
	c.count++
	c.bytes += int64(len(text))
	if c.count <= c.limits.Memories && c.bytes <= c.limits.Bytes {
		c.notes = append(c.notes, note{name, p, text})
	}
	return nil
}

// fits returns an error if no store with these limits can hold the notes.
func (c *collector) fits() error {
	switch {
	case c.count > c.limits.Memories:
		return fmt.Errorf("%w: the source has %d notes", &memento.LimitError{Limit: memento.LimitMemories, Max: c.limits.Memories, Want: c.count}, c.count)
	case c.bytes > c.limits.Bytes:
		return fmt.Errorf("%w: the notes of the source have %d bytes", &memento.LimitError{Limit: memento.LimitBytes, Max: c.limits.Bytes, Want: c.bytes}, c.bytes)
	}
	return nil
}

// stripMemories removes the name "memories" from the front of all paths: it is the root
// of agents' paths, which the local tools of Anthropic's SDKs keep on disk.
func (c *collector) stripMemories() {
	const root = "/memories/"
	switch c.opts.Format {
	case "", FormatMemoryTool:
	default:
		return
	}
	into := c.opts.Into
	if into == "" || into.IsRoot() {
		into = ""
	}
	for _, n := range c.notes {
		if !strings.HasPrefix(string(n.path), string(into)+root) {
			return
		}
	}
	for i, n := range c.notes {
		c.notes[i].path = into + n.path[len(into)+len(root)-1:]
	}
	if len(c.notes) > 0 {
		c.res.Format = FormatMemoryTool
	}
}
