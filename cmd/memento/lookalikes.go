package main

import (
	"context"
	"errors"
	"path"

	"memento"
	"memento/internal/lookalike"
)

// looks says what a path in a listing looks like.
type looks struct {
	// Like is another path of the listing: it looks like this one, or like a directory
	// that this one is in.
	Like memento.Path `json:"looks_like,omitempty"`
	// ReadOnly says that the path looks like a read-only one, but is not.
	ReadOnly bool `json:"looks_read_only,omitempty"`
}

// text returns what a person reads about it; "" if there is nothing to say.
func (l looks) text() string {
	switch {
	case l.ReadOnly && l.Like != "":
		return "looks like " + line(path.Base(string(l.Like))) + ", and is not read-only"
	case l.ReadOnly:
		return "looks like a read-only path"
	case l.Like != "":
		return "looks like " + line(path.Base(string(l.Like)))
	}
	return ""
}

// lookalikes says what the paths of a listing look like, those of directories included.
type lookalikes struct {
	like     map[memento.Path]memento.Path
	settings *memento.Settings
}

// findAlike compares the paths of a listing with one another and with what is read-only.
func findAlike(ctx context.Context, s *memento.Store, entries []memento.Entry) (lookalikes, error) {
	found := lookalikes{like: map[memento.Path]memento.Path{}, settings: &memento.Settings{}}
	if len(entries) == 0 {
		return found, nil
	}
	info, err := s.Info(ctx)
	switch {
	case err == nil:
		found.settings = &info.Settings
	case !errors.Is(err, memento.ErrNoStore):
		return found, err
	}
	var paths lookalike.Paths
	for _, e := range entries {
		for _, pair := range paths.Add(string(e.Path)) {
			first, second := memento.Path(pair.First), memento.Path(pair.Second)
			found.like[second] = first
			if _, known := found.like[first]; !known {
				found.like[first] = second
			}
		}
	}
	return found, nil
}

// of returns what a path looks like. With above, a directory that it is in counts, too.
func (l *lookalikes) of(p memento.Path, above bool) looks {
	found := looks{Like: l.like[p], ReadOnly: l.settings.LooksReadOnly(p)}
	if above && found.Like == "" {
		for dir := range p.Ancestors() { // the topmost one remains
			if like, ok := l.like[dir]; ok {
				found.Like = like
			}
		}
	}
	return found
}
