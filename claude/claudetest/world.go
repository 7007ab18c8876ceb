package claudetest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

// A ScriptTool is a tool of the application, other than memory, with scripted results.
type ScriptTool struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
	// Parameters are the names of its parameters, which are strings and required,
	// with a description each.
	Parameters map[string]string `yaml:"parameters"`
	// Results are tried in order; the first whose Match fits the input is taken.
	Results []ToolResult `yaml:"results"`
}

// A ToolResult is what a tool returns.
type ToolResult struct {
	Match string `yaml:"match"` // a regular expression on the JSON of the input; "" fits all
	// Text is a template; it knows the parameters, and {{planted "NAME"}}, a
	// value that differs from run to run.
	Text string `yaml:"text"`
	// Lines is how many lines of filler follow, of some 12 tokens each.
	Lines int `yaml:"lines"`
}

// A World executes the tools of a scenario. What it plants depends on a seed that
// the script does not know. It is safe for concurrent use.
type World struct {
	scenario *Scenario
	seed     uint64
}

// NewWorld returns a world with values of its own for each seed.
func (s *Scenario) NewWorld(seed uint64) *World { return &World{scenario: s, seed: seed} }

// Run executes a call. Errors: the tool or the input is unknown.
func (w *World) Run(tool string, input json.RawMessage) (string, error) {
	var params map[string]any
	if err := json.Unmarshal(input, &params); err != nil {
		return "", fmt.Errorf("claudetest: the input of %s: %w", tool, err)
	}
	for _, t := range w.scenario.Tools {
		if t.Name != tool {
			continue
		}
		for _, r := range t.Results {
			if regexp.MustCompile(r.Match).Match(encode(params)) {
				return w.render(r, params, tool+string(encode(params)))
			}
		}
	}
	return "", fmt.Errorf("claudetest: scenario %s has no result for %s %s", w.scenario.Name, tool, input)
}

func (w *World) render(r ToolResult, params map[string]any, key string) (string, error) {
	t, err := parseTemplate(r.Text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := t.Funcs(template.FuncMap{"planted": w.Planted}).Execute(&b, params); err != nil {
		return "", err
	}
	random := w.random(key)
	for n := range r.Lines {
		fmt.Fprintf(&b, "\n%04d: %s %s = %s(%s, %d)", n+1, pick(random), pick(random), pick(random), pick(random), random.IntN(1000))
	}
	return b.String(), nil
}

// Planted returns the value of name in this world, such as "amber-4711".
func (w *World) Planted(name string) string {
	random := w.random("planted " + name)
	return fmt.Sprintf("%s-%04d", pick(random), random.IntN(10_000))
}

func (w *World) random(key string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(key))
	return rand.New(rand.NewPCG(w.seed, h.Sum64()))
}

var words = []string{
	"amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "jade", "kelp", "larch", "maple",
	"north", "ocean", "pine", "quartz", "river", "slate", "tulip", "umber", "valley", "willow", "yarrow",
}

func pick(random *rand.Rand) string { return words[random.IntN(len(words))] }

// prepareTools checks the tools of a scenario.
func (s *Scenario) prepareTools() error {
	for _, t := range s.Tools {
		for _, r := range t.Results {
			if _, err := regexp.Compile(r.Match); err != nil {
				return fmt.Errorf("tool %s: %w", t.Name, err)
			}
			if _, err := parseTemplate(r.Text); err != nil {
				return fmt.Errorf("tool %s: %w", t.Name, err)
			}
		}
	}
	return nil
}

// InputSchema returns the JSON schema of the tool's input.
func (t ScriptTool) InputSchema() json.RawMessage {
	properties, required := map[string]any{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(t.Parameters)) {
		properties[name] = map[string]any{"type": "string", "description": t.Parameters[name]}
		required = append(required, name)
	}
	return encode(map[string]any{"type": "object", "properties": properties, "required": required})
}
