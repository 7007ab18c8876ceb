package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"memento"
	"memento/history"
	"memento/internal/wire"
)

type annotatedLineJSON struct {
	Type      string            `json:"type"` // "memory_line"
	Memory    memento.MemoryID  `json:"memory_id"`
	Store     memento.StoreID   `json:"memory_store_id"`
	Line      int               `json:"line"` // from 1
	Text      string            `json:"text"`
	Version   memento.VersionID `json:"memory_version_id"`
	CreatedBy *wire.Actor       `json:"created_by"`
	CreatedAt time.Time         `json:"created_at"`

	MayBeOlder bool          `json:"may_be_older"`
	CreatedKey memento.KeyID `json:"created_by_key_id,omitempty"`
}

// maxActor is the maximum number of characters of an actor in the output.
const maxActor = 26

// showAnnotated prints lines with the version, time and actor of each.
func (a *app) showAnnotated(ctx context.Context, s *memento.Store, lines []history.AnnotatedLine) error {
	if a.json {
		return a.annotatedJSON(ctx, s, lines)
	}
	widest := 0
	for _, l := range lines {
		widest = max(widest, utf8.RuneCountInString(shortActor(l.Version.CreatedBy)))
	}
	digits := len(strconv.Itoa(len(lines)))
	for i, l := range lines {
		mark := " "
		if l.MayBeOlder {
			mark = "<"
		}
		from := fmt.Sprintf("%s%s  %-*s  %*d", mark, minute(l.Version.CreatedAt), widest, shortActor(l.Version.CreatedBy), digits, i+1)
		if err := a.print("%s %s  %s\n", l.Version.ID, a.paint(dim, from), a.contents(l.Text)); err != nil {
			return err
		}
	}
	return nil
}

// shortActor shortens the name of an actor to maxActor characters. It removes the middle,
// because IDs that were created at about the same time begin with the same characters.
func shortActor(by memento.Actor) string {
	name := []rune(line(cmp.Or(by.String(), "-")))
	if len(name) <= maxActor {
		return string(name)
	}
	const end = 8
	return string(name[:maxActor-end-1]) + "…" + string(name[len(name)-end:])
}

func (a *app) annotatedJSON(ctx context.Context, s *memento.Store, lines []history.AnnotatedLine) error {
	store, err := s.ID(ctx)
	if err != nil {
		return err
	}
	for i, l := range lines {
		err := a.writeJSON(annotatedLineJSON{
			Type: "memory_line", Memory: l.Version.Memory, Store: store, Line: i + 1, Text: l.Text,
			Version: l.Version.ID, CreatedBy: wire.FromActor(l.Version.CreatedBy), CreatedAt: l.Version.CreatedAt,
			MayBeOlder: l.MayBeOlder, CreatedKey: l.Version.CreatedBy.Key,
		})
		if err != nil {
			return err
		}
	}
	return nil
}
