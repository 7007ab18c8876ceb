package sensitive

import (
	"fmt"
	"slices"
	"sync"

	"memento"
	"memento/sensitive/instructions"
)

var (
	_ memento.InstructionDetector = (*Detector)(nil)
	_ memento.SplitDetector       = (*Detector)(nil)
)

// A Detector finds secrets and personal data in texts. It is safe for concurrent
// use. It reads no files and no environment, writes no logs, and starts no
// goroutines.
type Detector struct {
	rules   func() ([]*rule, map[string]bool) // the rules, and the kinds that placeholders can name
	secrets func() *engine                    // without rules for personal data
	all     func() *engine
}

// Options are optional: nil means the rules of this package.
type Options struct {
	// Rules are additional rules, and changes to the built-in ones, in the schema of
	// a gitleaks configuration file (TOML). The ID of a rule is its kind. A rule with
	// the ID of built-in rules overrides their fields that it sets, and adds its
	// keywords and allowlists. extend.disabledRules names rules to leave out. Rules for
	// paths, required rules, and extend.path are refused: a Detector only sees text.
	Rules []byte
}

// Default returns a Detector with the rules of this package.
func Default() *Detector { return newDetector(nil) }

// New returns a Detector. An error is about opts.Rules, and names the rule.
func New(opts *Options) (*Detector, error) {
	if opts == nil || len(opts.Rules) == 0 {
		return Default(), nil
	}
	extra, err := parseRules(opts.Rules)
	if err == nil {
		err = extra.check()
	}
	if err != nil {
		return nil, fmt.Errorf("sensitive: rules: %w", err)
	}
	return newDetector(extra), nil
}

func newDetector(extra *ruleFile) *Detector {
	d := &Detector{}
	d.rules = sync.OnceValues(func() ([]*rule, map[string]bool) {
		kinds := map[string]bool{}
		builtin := builtinRules()
		for _, r := range builtin { // before extra removes some: it may not have done so when a text was masked
			kinds[r.kind] = true
		}
		for _, kind := range formerKinds {
			kinds[kind] = true
		}
		rules := extra.extend(builtin)
		for _, r := range rules {
			kinds[r.kind] = true
		}
		return rules, kinds
	})
	engineFor := func(personal bool) func() *engine {
		return sync.OnceValue(func() *engine {
			rules, kinds := d.rules()
			return newEngine(rules, kinds, personal)
		})
	}
	d.secrets, d.all = engineFor(false), engineFor(true)
	return d
}

// DetectInstructions implements [memento.InstructionDetector], with package instructions.
func (d *Detector) DetectInstructions(text string) []memento.Finding { return instructions.Find(text) }

// Kinds returns all kinds that findings can have, sorted.
func (d *Detector) Kinds(personal bool) []string {
	var kinds []string
	rules, _ := d.rules()
	for _, r := range rules {
		if personal || !r.personal {
			kinds = append(kinds, r.kind)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// maxRounds returns how often a text of n bytes is searched at most, after the first time.
// Masking a finding can reveal another, since the placeholder ends a word that continued
// before. Two rounds are enough, except for texts that were made to need more, which may not
// take much longer for that.
func maxRounds(n int) int {
	const most, searched = 10, 200 << 10 // rounds, bytes
	return min(most, max(2, searched/max(1, n)))
}

// Detect implements [memento.Detector].
func (d *Detector) Detect(text string, personal bool) []memento.Finding {
	e := d.engine(personal)
	found := e.find(text, false)
	if len(found) == 0 {
		return nil
	}
	return findAll(text, found, e.find)
}

func (d *Detector) engine(personal bool) *engine {
	if personal {
		return d.all()
	}
	return d.secrets()
}

// findAll returns found, the findings in text, and the findings that appear when these
// are masked, until a masked text has none. After maxRounds the whole text is one
// finding.
func findAll(text string, found []memento.Finding, find func(text string, again bool) []memento.Finding) []memento.Finding {
	for range maxRounds(len(text)) {
		masked, at := mask(text, found)
		more := find(masked, true)
		if len(more) == 0 {
			return found
		}
		for _, f := range more {
			found = append(found, memento.Finding{Kind: f.Kind, Start: at(f.Start), End: at(f.End)})
		}
		slices.SortFunc(found, func(a, b memento.Finding) int { return a.Start - b.Start })
	}
	return []memento.Finding{{Kind: found[0].Kind, Start: 0, End: len(text)}}
}
