package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
)

// A graphLine is a line of the file of MCP's server "memory": an entity or a relation.
type graphLine struct {
	Type string `json:"type"`

	Name         string            `json:"name"`
	EntityType   string            `json:"entityType"`
	Observations []json.RawMessage `json:"observations"` // strings; objects with contents in some descendants

	From         string `json:"from"`
	To           string `json:"to"`
	RelationType string `json:"relationType"`
}

func isGraphLine(start []byte) bool {
	first, _, _ := bytes.Cut(start, []byte("\n"))
	var l graphLine
	if json.Unmarshal(first, &l) != nil {
		return false
	}
	return l.Type == "entity" && l.Name != "" || l.Type == "relation" && l.From != "" && l.To != ""
}

// readGraph makes a note of each entity, with its observations and its relations in both
// directions, in a directory for its type.
func readGraph(ctx context.Context, text string, p *pages) error {
	type entity struct {
		graphLine
		relations []string
	}
	var entities []*entity
	byName := map[string]*entity{}
	var relations []graphLine
	err := eachLine(text, func(n int, line []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		var l graphLine
		if err := json.Unmarshal(line, &l); err != nil {
			return malformed(FormatServerMemory, "line %d is not a JSON object: %v", n, err)
		}
		switch l.Type {
		case "entity":
			if known := byName[l.Name]; known != nil { // the server keeps the first
				known.Observations = append(known.Observations, l.Observations...)
				return nil
			}
			e := &entity{graphLine: l}
			byName[l.Name] = e
			entities = append(entities, e)
		case "relation":
			relations = append(relations, l)
		default:
			return malformed(FormatServerMemory, "line %d is neither an entity nor a relation", n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	var loose []string // between things that are not there
	for _, r := range relations {
		sentence := item(r.From + " " + r.RelationType + " " + r.To)
		from, to := byName[r.From], byName[r.To]
		if from != nil {
			from.relations = append(from.relations, sentence)
		}
		if to != nil && to != from {
			to.relations = append(to.relations, sentence)
		}
		if from == nil && to == nil {
			loose = append(loose, sentence)
		}
	}
	for _, e := range entities {
		var lines []string
		if e.EntityType != "" {
			lines = append(lines, "Type: "+e.EntityType, "")
		}
		for _, o := range e.Observations {
			lines = append(lines, item(observation(o)))
		}
		if len(e.relations) > 0 {
			lines = append(lines, "", "## Relations", "")
			lines = append(lines, e.relations...)
		}
		if len(lines) == 0 {
			lines = []string{"(no observations)"}
		}
		at := fileName(e.Name)
		if e.EntityType != "" {
			at = fileName(e.EntityType) + "/" + at
		}
		if err := p.add(at, e.Name, lines); err != nil {
			return err
		}
	}
	return p.add("relations", "Relations", loose)
}

// observation returns the text of an observation: a string, or an object with its text in
// a field.
func observation(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var fields map[string]any
	if json.Unmarshal(raw, &fields) == nil {
		for _, key := range []string{"content", "contents", "text"} {
			if s, ok := fields[key].(string); ok {
				return s
			}
		}
	}
	return strings.TrimSpace(string(raw))
}
