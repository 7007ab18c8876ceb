package importer

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A mem0Memory is one memory of mem0, as its clients and its server return them.
type mem0Memory struct {
	Memory     string         `json:"memory"`
	User       string         `json:"user_id"`
	Agent      string         `json:"agent_id"`
	App        string         `json:"app_id"`
	Run        string         `json:"run_id"`
	Categories []string       `json:"categories"`
	Metadata   map[string]any `json:"metadata"`
	Created    string         `json:"created_at"`
	Updated    string         `json:"updated_at"`
}

// A mem0Relation is an edge of mem0's graph memory.
type mem0Relation struct {
	Source       string `json:"source"`
	Relationship string `json:"relationship"`
	Target       string `json:"target"`
	Destination  string `json:"destination"` // instead of Target, in some versions
}

// readMem0 makes a note of the memories of each user, agent, app, run and first category.
func readMem0(ctx context.Context, text string, p *pages) error {
	var all struct {
		Results   []mem0Memory   `json:"results"`
		Relations []mem0Relation `json:"relations"`
	}
	var err error
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		err = json.Unmarshal([]byte(text), &all.Results)
	} else {
		err = json.Unmarshal([]byte(text), &all)
	}
	if err != nil {
		return malformed(FormatMem0, "it is not the JSON of mem0's memories: %v", err)
	}
	type group struct {
		heading string
		lines   []string
	}
	groups := map[string]*group{}
	for i, m := range all.Results {
		if err := ctx.Err(); err != nil {
			return err
		}
		if strings.TrimSpace(m.Memory) == "" {
			p.res.problem(fmt.Sprintf("memory %d", i+1), errEmpty, "it has no text")
			continue
		}
		dir, heading := m.place()
		g := groups[dir]
		if g == nil {
			g = &group{heading: heading}
			groups[dir] = g
		}
		g.lines = append(g.lines, item(m.text()))
	}
	for _, at := range slices.Sorted(maps.Keys(groups)) {
		if err := p.add(at, groups[at].heading, groups[at].lines); err != nil {
			return err
		}
	}
	var lines []string
	for _, r := range all.Relations {
		target := r.Target
		if target == "" {
			target = r.Destination
		}
		lines = append(lines, item(strings.Join([]string{r.Source, r.Relationship, target}, " ")))
	}
	return p.add("relations", "Relations", lines)
}

// errEmpty is the Err of a [Problem] of an entry without a text.
var errEmpty = malformed("", "an entry is empty")

// place returns the path, without extension, and the heading of the note for a memory.
func (m *mem0Memory) place() (at, heading string) {
	var names []string
	for _, scope := range []struct{ prefix, id string }{{"", m.User}, {"agent ", m.Agent}, {"app ", m.App}, {"run ", m.Run}} {
		if scope.id != "" {
			names = append(names, fileName(scope.prefix+scope.id))
		}
	}
	title := "memories"
	if len(m.Categories) > 0 && strings.TrimSpace(m.Categories[0]) != "" {
		title = m.Categories[0]
	}
	heading = strings.ReplaceAll(title, "_", " ")
	heading = upperFirst(heading)
	if len(names) > 0 {
		heading += " (" + strings.Join(names, ", ") + ")"
	} else if title == "memories" {
		title = "mem0"
	}
	return strings.Join(append(names, fileName(title)), "/"), heading
}

// text returns the memory with its date, its other categories and its metadata.
func (m *mem0Memory) text() string {
	var notes []string
	if d := day(m.Updated); d != "" {
		notes = append(notes, d)
	} else if d := day(m.Created); d != "" {
		notes = append(notes, d)
	}
	if len(m.Categories) > 1 {
		notes = append(notes, "also "+strings.Join(m.Categories[1:], ", "))
	}
	for _, key := range slices.Sorted(maps.Keys(m.Metadata)) {
		value, err := json.Marshal(m.Metadata[key])
		if s, ok := m.Metadata[key].(string); ok {
			value = []byte(s)
		}
		if err == nil {
			notes = append(notes, key+": "+string(value))
		}
	}
	if len(notes) == 0 {
		return m.Memory
	}
	return strings.TrimSpace(m.Memory) + " (" + strings.Join(notes, "; ") + ")"
}
