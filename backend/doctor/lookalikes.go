package doctor

import (
	"fmt"

	"memento"
	"memento/internal/lookalike"
)

// lookalikes are the paths of a store that a person or a model could take for each other.
type lookalikes struct {
	paths lookalike.Paths
	at    map[string]memento.MemoryID // by path: a memory there, or below it if it is a directory
}

const adviceLookalike = `"memento ls -R" shows which paths look alike; "memento mv" renames one, or "memento log" shows who wrote it`

// lookalike looks for a path that looks like the one of m, or for a directory that looks
// like one above it. Encrypted names look like nothing.
func (x *examination) lookalike(m *memento.Memory) {
	if x.info.Envelope != "" {
		return
	}
	if x.info.Settings.LooksReadOnly(m.Path) {
		x.notice(fmt.Sprintf("the path of memory %s looks like a read-only one", m.ID), m.ID)
	}
	for _, pair := range x.alike.paths.Add(string(m.Path)) {
		first := x.alike.at[pair.First]
		x.notice(fmt.Sprintf("the paths of memories %s and %s look alike", first, m.ID), first, m.ID)
	}
	if x.alike.at == nil {
		x.alike.at = map[string]memento.MemoryID{}
	}
	for p := m.Path; !p.IsRoot(); p = p.Parent() {
		if _, known := x.alike.at[string(p)]; known {
			break
		}
		x.alike.at[string(p)] = m.ID
	}
}

func (x *examination) notice(text string, about ...memento.MemoryID) {
	if x.seen.Notices++; x.seen.Notices <= maxFaults {
		x.notices = append(x.notices, Notice{Store: x.info.ID, Memories: about, Text: text, Advice: adviceLookalike})
	}
}
