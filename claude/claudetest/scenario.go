package claudetest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"text/template"

	"go.yaml.in/yaml/v3"
)

// A Scenario is what is played: conversations of a user with a model.
//
// The place in a conversation is found from the request alone. The tool_use IDs that
// the model makes name the conversation and the turn; before the first call, the
// conversation is the one that begins with the user's first words, and the turns of
// the assistant are counted. So nothing is remembered between requests.
//
// The texts of turns are templates of package text/template. They know the variables
// of the loops around them, and the function find: {{find "port is ([0-9]+)"}} is the
// group of the last match in what the user and the tools have told the model, as far
// as it still sees that. If there is none, the model makes the turn Recall of the
// conversation and tries again; if that does not help, it answers that it has forgotten.
type Scenario struct {
	Name  string `yaml:"name"`
	About string `yaml:"about"` // one sentence for people
	// Model, System and Tools are what the application sends; the memory tool is
	// not among the tools.
	Model  string       `yaml:"model"`
	System string       `yaml:"system"`
	Tools  []ScriptTool `yaml:"tools"`

	Conversations []Conversation `yaml:"conversations"`
}

// A Conversation begins with an empty context.
type Conversation struct {
	ID    string `yaml:"id"` // letters and digits; part of the tool_use IDs
	Turns []Turn `yaml:"turns"`
	// OnWarning is a turn that is made when the last message warns that the
	// context will be cleared soon.
	OnWarning *Turn `yaml:"on_warning"`
	// Recall is a turn that is made when a fact is not in the context.
	Recall *Turn `yaml:"recall"`
	// Summary is the content of a compaction; "" means a sentence without facts.
	Summary string `yaml:"summary"`
}

// A Turn is one answer of the model, or a loop of turns.
type Turn struct {
	// User is what the user says before; the request must contain it. "" after a
	// turn with calls means that the results are the answer.
	User string `yaml:"user"`
	// Expect are regular expressions that the last message of the request must match.
	Expect []string `yaml:"expect"`

	Thinking string `yaml:"thinking"` // sent only if the request asks for thinking
	Say      string `yaml:"say"`
	Calls    []Call `yaml:"calls"`
	// Stop is the stop reason; "" means tool_use with calls and end_turn without.
	Stop string `yaml:"stop"`

	// Repeat makes a loop of Turns instead of one answer.
	Repeat *Repeat `yaml:"repeat"`
	Turns  []Turn  `yaml:"turns"`

	vars map[string]any // the variables of the loops around
}

// A Call is a tool_use block. The strings in Input are templates.
type Call struct {
	Tool  string         `yaml:"tool"`
	Input map[string]any `yaml:"input"`
}

// Repeat counts the variable Var from From to To, both included.
type Repeat struct {
	Var  string `yaml:"var"`
	From int    `yaml:"from"`
	To   int    `yaml:"to"`
}

// maxTurns is the most turns of a conversation, with loops unrolled.
const maxTurns = 10_000

var conversationID = regexp.MustCompile(`^[a-z0-9]{1,20}$`)

// Load parses a scenario and checks it: unknown fields, templates and regular
// expressions that do not compile, and loops without end are errors.
func Load(data []byte) (*Scenario, error) {
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	var s Scenario
	if err := d.Decode(&s); err != nil {
		return nil, fmt.Errorf("claudetest: scenario: %w", err)
	}
	if err := s.prepare(); err != nil {
		return nil, fmt.Errorf("claudetest: scenario %s: %w", s.Name, err)
	}
	return &s, nil
}

// Script returns a scenario of one conversation that begins with any words of the
// user. It panics if a turn is not valid, which is a bug of the test.
func Script(turns ...Turn) *Scenario {
	s := &Scenario{Name: "script", Model: "claude-sonnet-4-5", Conversations: []Conversation{{ID: "script", Turns: turns}}}
	if err := s.prepare(); err != nil {
		panic("claudetest: " + err.Error())
	}
	return s
}

// prepare unrolls loops and checks everything that can be wrong.
func (s *Scenario) prepare() error {
	if s.Name == "" || len(s.Conversations) == 0 {
		return errors.New("it needs a name and conversations")
	}
	ids := map[string]bool{}
	for i := range s.Conversations {
		c := &s.Conversations[i]
		if !conversationID.MatchString(c.ID) || ids[c.ID] {
			return fmt.Errorf("conversation %d: the ID %q is not unique or not lower-case letters and digits", i+1, c.ID)
		}
		ids[c.ID] = true
		turns, err := unroll(nil, c.Turns, nil)
		if err != nil {
			return fmt.Errorf("conversation %s: %w", c.ID, err)
		}
		c.Turns = turns
		all := turns
		for _, extra := range []*Turn{c.OnWarning, c.Recall} {
			if extra != nil {
				if len(extra.Calls) == 0 {
					return fmt.Errorf("conversation %s: on_warning and recall need calls", c.ID)
				}
				all = append(all, *extra)
			}
		}
		for j, turn := range all {
			if err := turn.check(); err != nil {
				return fmt.Errorf("conversation %s, turn %d: %w", c.ID, j+1, err)
			}
		}
		if _, err := parseTemplate(c.Summary); err != nil {
			return err
		}
	}
	return s.prepareTools()
}

// unroll appends turns to list with their loops unrolled.
func unroll(list, turns []Turn, vars map[string]any) ([]Turn, error) {
	for _, turn := range turns {
		if turn.Repeat == nil {
			if len(turn.Turns) > 0 {
				return nil, errors.New("turns inside a turn need repeat")
			}
			turn.vars = vars
			if list = append(list, turn); len(list) > maxTurns {
				return nil, fmt.Errorf("more than %d turns", maxTurns)
			}
			continue
		}
		for n := turn.Repeat.From; n <= turn.Repeat.To; n++ {
			inner := map[string]any{turn.Repeat.Var: n}
			for name, v := range vars {
				inner[name] = v
			}
			var err error
			if list, err = unroll(list, turn.Turns, inner); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

func (t Turn) check() error {
	if t.Say == "" && len(t.Calls) == 0 {
		return errors.New("a turn needs say or calls")
	}
	for _, pattern := range t.Expect {
		if _, err := regexp.Compile(pattern); err != nil {
			return err
		}
	}
	texts := []string{t.Thinking, t.Say}
	for _, c := range t.Calls {
		if c.Tool == "" {
			return errors.New("a call needs a tool")
		}
		texts = append(texts, stringsIn(c.Input)...)
	}
	for _, s := range texts {
		if _, err := parseTemplate(s); err != nil {
			return err
		}
	}
	return nil
}

func stringsIn(v any) (all []string) {
	switch v := v.(type) {
	case string:
		all = append(all, v)
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, stringsIn(v[name])...)
		}
	case []any:
		for _, inner := range v {
			all = append(all, stringsIn(inner)...)
		}
	}
	return all
}

func parseTemplate(s string) (*template.Template, error) {
	return template.New("scenario").Option("missingkey=error").Funcs(template.FuncMap{
		"find":    func(string) (string, error) { return "", nil },
		"planted": func(string) string { return "" },
	}).Parse(s)
}
