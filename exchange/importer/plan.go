package importer

import (
	"cmp"
	"context"
	"errors"

	"memento"
)

// Import reads the source and writes its notes to the store, as one change made by the
// given actor.
//
// The Result is also returned with an error, as far as it is known.
//
// Errors: [ProblemsError] if there are problems and Options.Partial is not set;
// [FormatError]; memento.LimitError if the store cannot hold all notes; ErrTooLarge for a
// source larger than Options.MaxBytes; those of [memento.Store.Apply]; those of the
// source.
func (s *Source) Import(ctx context.Context, store *memento.Store, by memento.Actor, opts *Options) (Result, error) {
	var res Result
	c := collector{res: &res}
	if opts != nil {
		c.opts = *opts
	}
	c.opts.MaxBytes = cmp.Or(max(c.opts.MaxBytes, 0), defaultMaxBytes)
	info, made, err := store.InfoIfCreated(ctx)
	if err != nil {
		return res, err
	}
	c.limits = c.opts.NewLimits.WithDefaults()
	if made {
		c.limits = info.Limits.WithDefaults()
	}
	res.Limits, res.Usage = c.limits, info.Usage
	if err := s.chooseFormat(&c); err != nil {
		return res, err
	}
	if err := c.collect(ctx, s); err != nil {
		return res, err
	}
	if err := c.fits(); err != nil {
		return res, err
	}
	found := len(res.Problems) + res.MoreProblems
	for {
		p := planner{collector: &c, store: store, info: info, masked: map[string]int{}}
		if err := p.plan(ctx, made); err != nil {
			return res, err
		}
		if len(res.Problems) > 0 && !c.opts.Partial {
			return res, res.problemsError()
		}
		if err := p.fits(); err != nil {
			return res, err
		}
		if c.opts.DryRun || len(p.changes) == 0 {
			p.report(&res)
			return res, nil
		}
		done, err := store.Apply(ctx, by, p.changes...)
		// Others have changed what was compared: compare again.
		if errors.Is(err, memento.ErrConflict) || errors.Is(err, memento.ErrExist) || errors.Is(err, memento.ErrIsDir) || errors.Is(err, memento.ErrNotDir) {
			if ctx.Err() != nil {
				return res, ctx.Err()
			}
			res.Problems = res.Problems[:min(found, len(res.Problems))]
			res.MoreProblems = found - len(res.Problems)
			if info, made, err = store.InfoIfCreated(ctx); err != nil {
				return res, err
			}
			continue
		}
		if err != nil {
			return res, err
		}
		p.masked, p.marked = map[string]int{}, map[string]int{}
		for _, f := range done.Masked {
			p.masked[f.Kind]++
		}
		for _, f := range done.Marked {
			p.marked[f.Kind]++
		}
		p.report(&res)
		res.Usage, res.Limits = done.Usage, done.Limits
		return res, nil
	}
}

// A planner compares the notes with the store.
type planner struct {
	*collector
	store *memento.Store
	info  memento.StoreInfo

	changes                      []memento.Change
	created, replaced, unchanged int
	written                      int64         // bytes of the texts that are created or replace others
	usage                        memento.Usage // afterwards
	masked, marked               map[string]int
}

func (p *planner) report(res *Result) {
	res.Created, res.Replaced, res.Unchanged = p.created, p.replaced, p.unchanged
	res.Bytes = p.written
	res.Usage = p.usage
	if len(p.masked) > 0 {
		res.Masked = p.masked
	}
	if len(p.marked) > 0 {
		res.Marked = p.marked
	}
}

func (p *planner) plan(ctx context.Context, made bool) error {
	heads := map[memento.Path]memento.Entry{}
	dirs := map[memento.Path]bool{}
	given := map[memento.Path]bool{} // by the source
	if made {
		for e, err := range p.store.List(ctx, memento.ListOptions{}) {
			if err != nil {
				return err
			}
			heads[e.Path] = e
			for dir := range e.Path.Ancestors() {
				dirs[dir] = true
			}
		}
	}
	p.usage = p.info.Usage
	strict := made && p.info.Settings.Sensitive.Mode == memento.Reject
	for i, n := range p.notes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.opts.Progress != nil {
			p.opts.Progress(i+1, len(p.notes))
		}
		entry, exists := heads[n.path]
		head := entry.Memory
		if exists && !entry.Foreign && head.SHA256 == memento.HashContent(n.text) {
			p.unchanged++
			continue
		}
		if err := p.free(n, heads, dirs, given); err != nil {
			at, _ := errors.AsType[*memento.Error](err)
			p.res.problem(n.name, at.Err, "%s %v", at.Path, at.Err)
			continue
		}
		given[n.path] = true
		size := int64(len(n.text))
		if exists || strict || p.opts.DryRun {
			text, found, err := p.store.Masked(ctx, n.path, n.text)
			switch {
			case errors.Is(err, memento.ErrSensitive):
				p.res.problem(n.name, memento.ErrSensitive, "%s", sensitiveReason(err))
				continue
			case err != nil:
				return err
			case exists && head.SHA256 == memento.HashContent(text):
				p.unchanged++
				continue
			}
			size = int64(len(text))
			for _, f := range found {
				p.masked[f.Kind]++
			}
		}
		if p.protected(n.path) {
			p.res.problem(n.name, memento.ErrProtected, "%s is read-only in the store", n.path)
			continue
		}
		if exists && !p.opts.Overwrite {
			p.res.problem(n.name, memento.ErrExist, "%s exists with other contents", n.path)
			continue
		}
		put := memento.Put{Path: n.path, Content: n.text, If: memento.IfAbsent()}
		if exists {
			put.If = memento.IfVersion(head.Version)
			p.replaced++
			p.usage.Bytes += size - head.Size
		} else {
			p.created++
			p.usage.Memories++
			p.usage.Bytes += size
		}
		p.written += size
		p.changes = append(p.changes, put)
	}
	return nil
}

// free returns why no memory can be at a note's path, because of what is a directory; nil
// if it can. given are the notes before it.
func (p *planner) free(n note, heads map[memento.Path]memento.Entry, dirs, given map[memento.Path]bool) error {
	switch {
	case dirs[n.path]:
		return &memento.Error{Op: "import", Path: n.path, Err: memento.ErrIsDir}
	case heads[n.path].Foreign:
		return &memento.Error{Op: "import", Path: n.path, Err: memento.ErrForeign}
	}
	for dir := range n.path.Ancestors() {
		if _, taken := heads[dir]; taken || given[dir] { // both in the source is possible in an archive
			return &memento.Error{Op: "import", Path: dir, Err: memento.ErrNotDir}
		}
	}
	return nil
}

func (p *planner) protected(at memento.Path) bool {
	for _, g := range p.info.Settings.ReadOnly {
		if g.Match(at) {
			return true
		}
	}
	return false
}

func sensitiveReason(err error) string {
	if at, ok := errors.AsType[*memento.SensitiveError](err); ok {
		return at.Error()
	}
	return err.Error()
}

// fits returns an error if the store cannot hold what it has and what is imported.
func (p *planner) fits() error {
	l, u := p.limits, p.usage
	switch {
	case u.Memories > l.Memories:
		return &memento.LimitError{Limit: memento.LimitMemories, Max: l.Memories, Used: p.info.Usage.Memories, Want: u.Memories}
	case u.Bytes > l.Bytes && u.Bytes > p.info.Usage.Bytes:
		return &memento.LimitError{Limit: memento.LimitBytes, Max: l.Bytes, Used: p.info.Usage.Bytes, Want: u.Bytes}
	}
	return nil
}
