package gencorpus

// Documented returns n secrets of each documented format in each surrounding.
func Documented(seed uint64, n int) []Note {
	m := newMaker(seed)
	var notes []Note
	for _, f := range formats {
		for _, s := range surroundings {
			for range n {
				notes = append(notes, m.newNote(f.kind, s.name, s.text, m.secretOf(f)))
			}
		}
	}
	return notes
}

func (m maker) secretOf(f format) string {
	if f.make != nil {
		return f.make(m)
	}
	return m.fill(f.pattern)
}

// Fill returns pattern with random characters in the place of its fields, such as {hex:32}
// or {uuid}. Other braces stay as they are.
func Fill(seed uint64, pattern string) string { return newMaker(seed).fillKnown(pattern) }
