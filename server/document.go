package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is a configuration file that is being read. It is read as YAML nodes instead
// of being decoded into a struct, so that the table of settings alone defines the keys,
// and every error has its line.
type document struct {
	config *Config // receives the webhooks
	values []value
	errs   ConfigErrors
}

func (d *document) errorf(key string, line int, format string, args ...any) {
	d.errs = append(d.errs, ConfigError{Setting: key, Source: FromFile, Line: line, Message: fmt.Sprintf(format, args...)})
}

// read walks a YAML document.
func (d *document) read(text []byte) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var top, more yaml.Node
	switch err := dec.Decode(&top); {
	case errors.Is(err, io.EOF):
		return // nothing is set
	case err != nil:
		d.syntax(err)
		return
	}
	if err := dec.Decode(&more); err == nil {
		d.errorf("", more.Line, "a second document begins here; only one is allowed")
	} else if !errors.Is(err, io.EOF) {
		d.syntax(err)
	}
	d.mapping("", top.Content[0])
}

var yamlLine = regexp.MustCompile(`^yaml: (?:[a-z ]*error: )?(?:line (\d+): )?`)

func (d *document) syntax(err error) {
	m := yamlLine.FindStringSubmatch(err.Error())
	line := 0
	if m != nil {
		line, _ = strconv.Atoi(m[1])
	}
	d.errorf("", line, "it is not YAML: %s", yamlLine.ReplaceAllString(err.Error(), ""))
}

// mapping reads the settings whose keys begin with prefix.
func (d *document) mapping(prefix string, n *yaml.Node) {
	n = resolve(n)
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null" && prefix == "":
		return // a file with only comments
	case n.Kind != yaml.MappingNode:
		d.errorf(strings.TrimSuffix(prefix, "."), n.Line, "expected settings, as in \"%s: …\", not %s", d.known(prefix)[0], describe(n))
		return
	}
	d.pairs(prefix, n, func(name string, at int, v *yaml.Node) {
		key := prefix + name
		if key == "webhooks" {
			d.webhooks(v)
			return
		}
		for _, s := range Settings() {
			if s.Key == key {
				d.setting(s, at, v)
				return
			}
		}
		if len(d.known(key+".")) > 0 {
			d.mapping(key+".", v)
			return
		}
		what := "unknown setting"
		if prefix == "" && d.isPart(name) {
			what = "unknown setting at the top level"
		}
		d.errorf(key, at, "%s; there are %s", what, strings.Join(d.known(prefix), ", "))
	})
}

// pairs calls do for each key of a mapping, with its line and its value.
func (d *document) pairs(prefix string, n *yaml.Node, do func(name string, line int, v *yaml.Node)) {
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := resolve(n.Content[i])
		if k.Kind != yaml.ScalarNode {
			d.errorf(strings.TrimSuffix(prefix, "."), k.Line, "expected the name of a setting, not %s", describe(k))
			continue
		}
		if first, twice := seen[k.Value]; twice {
			d.errorf(prefix+k.Value, k.Line, "already set in line %d", first)
			continue
		}
		seen[k.Value] = k.Line
		do(k.Value, k.Line, n.Content[i+1])
	}
}

// setting records the value of a setting.
func (d *document) setting(s Setting, line int, n *yaml.Node) {
	n = resolve(n)
	var items []string
	switch {
	case n.Kind == yaml.SequenceNode && s.list:
		for _, item := range n.Content {
			item = resolve(item)
			if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
				d.errorf(s.Key, item.Line, "expected a list of strings, not %s in it", describe(item))
				return
			}
			items = append(items, item.Value)
		}
	case n.Kind != yaml.ScalarNode:
		d.errorf(s.Key, line, "expected a value (%s), not %s", s.Form, describe(n))
		return
	case n.Tag == "!!null":
		d.errorf(s.Key, line, "has no value; remove the line, or write \"\"")
		return
	default:
		items = []string{n.Value}
	}
	d.values = append(d.values, value{s, origin{source: FromFile, line: line}, strings.Join(items, ",")})
}

// known returns the names that can follow a prefix, in the order of the table.
func (d *document) known(prefix string) []string {
	var names []string
	last := ""
	for _, s := range Settings() {
		rest, ok := strings.CutPrefix(s.Key, prefix)
		if name, _, _ := strings.Cut(rest, "."); ok && name != last {
			names, last = append(names, name), name
		}
	}
	return names
}

// isPart reports whether the key of a setting ends in a dot and name.
func (d *document) isPart(name string) bool {
	for _, s := range Settings() {
		if strings.HasSuffix(s.Key, "."+name) {
			return true
		}
	}
	return false
}

// resolve follows an alias.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// describe returns a readable description of a node, for error messages.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "nothing"
	}
	return "a single value"
}
