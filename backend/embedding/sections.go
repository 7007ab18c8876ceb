package embedding

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"

	"memento"
	"memento/backend/textindex"
	"memento/internal/placeholder"
)

// read returns the sections of a memory, with their texts. version is "" if it does not
// exist, or is damaged.
func (s *Searcher) read(ctx context.Context, store memento.StoreID, id memento.MemoryID) (sections []section, texts []string, version memento.VersionID, err error) {
	m, err := s.backend.Get(ctx, store, memento.ByID(id))
	switch {
	case errors.Is(err, memento.ErrNotExist), errors.Is(err, memento.ErrDamaged):
		return nil, nil, "", nil
	case err != nil:
		return nil, nil, "", err
	}
	secrets := s.secrets(m.Content) // of all of it: a section may have only a part of one
	for _, part := range textindex.Sections(m.Content) {
		var text string
		for _, heading := range part.Headings {
			text += mask(m.Content, heading.Start, heading.End, secrets) + "\n"
		}
		text += mask(m.Content, part.Start, part.End, secrets)
		sections = append(sections, section{Section: textindex.Section{Start: part.Start, End: part.End}, key: sha256.Sum256([]byte(text))})
		texts = append(texts, text)
	}
	return sections, texts, m.Version, nil
}

// secrets returns where a text has secrets.
func (s *Searcher) secrets(text string) []memento.Finding {
	if s.opts.Detector == nil {
		return nil
	}
	return s.opts.Detector.Detect(text, false)
}

// mask returns a part of a text with the secrets, or what it has of them, replaced.
func mask(text string, start, end int, secrets []memento.Finding) string {
	var b strings.Builder
	for _, f := range secrets {
		if f.End <= start || f.Start >= end {
			continue
		}
		b.WriteString(text[start:max(start, f.Start)])
		b.WriteString(placeholder.Of(f.Kind))
		start = min(f.End, end)
	}
	b.WriteString(text[start:end])
	return b.String()
}
