package sensitive

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

// A ruleFile has rules of a user, in the format of the configuration files of gitleaks.
type ruleFile struct {
	Title, Description, MinVersion string

	Extend struct {
		Path, URL     string
		UseDefault    bool
		DisabledRules []string
	}
	Rules      []fileRule
	Allowlist  *fileAllowlist // the older form
	Allowlists []fileAllowlist
}

type fileRule struct {
	ID, Description, Path, Regex string

	SecretGroup int
	Entropy     float64
	Keywords    []string
	Tags        []string
	Allowlist   *fileAllowlist // the older form
	Allowlists  []fileAllowlist
	Required    []any
	SkipReport  bool
}

type fileAllowlist struct {
	Description, Condition, RegexTarget string

	Commits, Paths, Regexes, StopWords []string
	TargetRules                        []string
}

// parseRules reads a configuration file, which must not have unknown fields.
func parseRules(data []byte) (*ruleFile, error) {
	var f ruleFile
	d := toml.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok {
			return nil, fmt.Errorf("unknown field %s", strings.Join(strict.Errors[0].Key(), "."))
		}
		return nil, err
	}
	f.join()
	return &f, nil
}

// join converts fields in the older form to the newer form.
func (f *ruleFile) join() {
	if f.Allowlist != nil {
		f.Allowlists = append(f.Allowlists, *f.Allowlist)
	}
	for i := range f.Rules {
		r := &f.Rules[i]
		if r.Allowlist != nil {
			r.Allowlists = append(r.Allowlists, *r.Allowlist)
		}
		for k, w := range r.Keywords {
			r.Keywords[k] = strings.ToLower(w)
		}
	}
}

// check returns an error for anything that a Detector would ignore or cannot use.
func (f *ruleFile) check() error {
	known := map[string]bool{}
	for _, r := range builtinRules() {
		known[r.kind] = true
	}
	if f.Extend.Path != "" || f.Extend.URL != "" {
		return errors.New("extend.path and extend.url are not supported")
	}
	lists := slices.Clone(f.Allowlists)
	for _, r := range f.Rules {
		fault := func(format string, args ...any) error {
			return fmt.Errorf("rule %q: "+format, append([]any{r.ID}, args...)...)
		}
		switch re, err := regexp.Compile(r.Regex); {
		case !isKind(r.ID):
			return fault("an ID is lower-case letters, digits and hyphens")
		case err != nil:
			return fault("%w", err)
		case r.SecretGroup < 0 || r.SecretGroup > re.NumSubexp():
			return fault("there is no group %d", r.SecretGroup)
		case r.Path != "" || len(r.Required) > 0:
			return fault("path and required are not supported")
		case r.Regex != "" && re.MatchString(""):
			return fault("the regex matches the empty text")
		case r.Regex == "" && !known[r.ID]:
			return fault("there is no regex, and no such rule to change")
		}
		lists = append(lists, r.Allowlists...)
	}
	for _, a := range lists {
		for _, re := range a.Regexes {
			if _, err := regexp.Compile(re); err != nil {
				return fmt.Errorf("allowlist: %w", err)
			}
		}
	}
	return nil
}

// extend applies the file to rules, and prepares them for use.
func (f *ruleFile) extend(rules []*rule) []*rule {
	if f != nil {
		rules = slices.DeleteFunc(rules, func(r *rule) bool {
			return slices.Contains(f.Extend.DisabledRules, r.kind)
		})
		for _, fr := range f.Rules {
			rules = fr.apply(rules)
		}
		for _, a := range f.Allowlists {
			list := a.allowlist()
			for _, r := range rules {
				if list != nil && (len(a.TargetRules) == 0 || slices.Contains(a.TargetRules, r.kind)) {
					r.allow = append(r.allow, list)
				}
			}
		}
	}
	for _, r := range rules {
		r.prepare()
	}
	return rules
}

// builtinRules returns the rules of this package, not yet prepared.
func builtinRules() []*rule {
	return slices.Concat(formatRules(), structuredRules(), accountRules(), serviceRules(), passwordRules(), personalRules())
}

func (fr fileRule) rule() *rule {
	r := &rule{kind: fr.ID, keywords: fr.Keywords, pattern: fr.Regex, group: fr.SecretGroup, entropy: fr.Entropy}
	for _, a := range fr.Allowlists {
		if list := a.allowlist(); list != nil {
			r.allow = append(r.allow, list)
		}
	}
	return r
}

// apply adds the rule to rules, or changes the rules of its kind. If fr has an
// expression, the new rule replaces them; otherwise each is changed by the fields that
// fr sets.
func (fr fileRule) apply(rules []*rule) []*rule {
	other := fr.rule()
	old := slices.IndexFunc(rules, func(r *rule) bool { return r.kind == fr.ID })
	if old < 0 {
		return append(rules, other)
	}
	if fr.Regex != "" {
		first := rules[old]
		other.entropy = cmp.Or(other.entropy, first.entropy)
		other.keywords = append(other.keywords, first.keywords...)
		other.allow = append(other.allow, first.allow...)
		other.personal = first.personal
		rules = slices.DeleteFunc(rules, func(r *rule) bool { return r.kind == fr.ID })
		return append(rules, other)
	}
	for _, r := range rules {
		if r.kind == fr.ID {
			r.group = cmp.Or(other.group, r.group)
			r.entropy = cmp.Or(other.entropy, r.entropy)
			r.keywords = append(slices.Clone(r.keywords), other.keywords...)
			r.allow = append(slices.Clone(r.allow), other.allow...)
		}
	}
	return rules
}

// allowlist returns nil for a list that can never apply because it needs a path or a
// commit.
func (a fileAllowlist) allowlist() *allowlist {
	list := &allowlist{target: a.RegexTarget}
	switch strings.ToUpper(a.Condition) {
	case "AND", "&&":
		list.all = true
	}
	if list.all && len(a.Paths)+len(a.Commits) > 0 {
		return nil
	}
	if len(a.Regexes) > 0 {
		list.patterns = sync.OnceValue(func() []*regexp.Regexp {
			var compiled []*regexp.Regexp
			for _, re := range a.Regexes {
				compiled = append(compiled, regexp.MustCompile(re))
			}
			return compiled
		})
	}
	if len(a.StopWords) > 0 {
		list.words = sync.OnceValue(func() *keywords {
			words := slices.Clone(a.StopWords)
			for i, w := range words {
				words[i] = strings.ToLower(w)
			}
			return newKeywords(words)
		})
	}
	if list.patterns == nil && list.words == nil {
		return nil
	}
	return list
}
