package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	gotoml "github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// TOML is parsed for the places of its tables and keys, and then edited as text, line by line.

// decodeTOML returns what a text says. Errors: ErrBroken.
func decodeTOML(text []byte) (map[string]any, error) {
	all := map[string]any{}
	if err := gotoml.Unmarshal(text, &all); err != nil {
		if at, ok := errors.AsType[*gotoml.DecodeError](err); ok {
			line, column := at.Position()
			return nil, fmt.Errorf("%w: line %d, column %d: %s", ErrBroken, line, column, strings.TrimPrefix(err.Error(), "toml: "))
		}
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return all, nil
}

// An expression is a table's header, or a key with its value.
type expression struct {
	header bool
	path   []string // from the root

	from, to int // whole lines, with the newline

	valueFrom, valueTo int // of a key
}

// expressions returns what a valid text consists of, in order.
func expressions(text []byte) ([]expression, error) {
	var found []expression
	var table []string
	var p unstable.Parser
	p.Reset(text)
	for p.NextExpression() {
		node := p.Expression()
		var e expression
		last := 0 // end of the key
		for key := node.Key(); key.Next(); {
			raw := key.Node().Raw
			if e.path == nil {
				e.from = bytes.LastIndexByte(text[:raw.Offset], '\n') + 1
			}
			e.path = append(e.path, string(key.Node().Data))
			last = int(raw.Offset + raw.Length)
		}
		end := last
		if node.Kind == unstable.KeyValue {
			end = int(node.Raw.Offset + node.Raw.Length)
			value := last + bytes.IndexByte(text[last:end], '=') + 1
			e.valueFrom = end - len(bytes.TrimLeft(text[value:end], " \t"))
			e.valueTo = end - len(text[value:end]) + len(bytes.TrimRight(text[value:end], " \t"))
			e.path = slices.Concat(table, e.path)
		} else {
			table, e.header = slices.Clone(e.path), true
		}
		if e.to = len(text); bytes.ContainsRune(text[end:], '\n') {
			e.to = end + bytes.IndexByte(text[end:], '\n') + 1
		}
		found = append(found, e)
	}
	if err := p.Error(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return found, nil
}

// below reports whether an expression belongs to the table of a path.
func (e expression) below(path []string) bool {
	return len(e.path) >= len(path) && slices.Equal(e.path[:len(path)], path)
}

// find returns the header of a table, or the key, with a path.
func find(all []expression, header bool, path []string) (expression, bool) {
	i := slices.IndexFunc(all, func(e expression) bool { return e.header == header && slices.Equal(e.path, path) })
	if i < 0 {
		return expression{}, false
	}
	return all[i], true
}

// tomlList returns a list of strings as TOML.
func tomlList(list []string) string { return layout{}.write(list, "") }

// inline returns an inline table of strings.
func inline(env map[string]string) string {
	keys := sortedKeys(env)
	for i, key := range keys {
		keys[i] = tomlKey(key) + " = " + quote(env[key])
	}
	return "{ " + strings.Join(keys, ", ") + " }"
}

func tomlKey(key string) string {
	if names.MatchString(key) {
		return key
	}
	return quote(key)
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// setTable puts a server into the tables of servers.
func setTable(text []byte, servers, name string, s Server) ([]byte, error) {
	all, err := expressions(text)
	if err != nil {
		return nil, err
	}
	path := []string{servers, name}
	nl := newline(text)
	if !slices.ContainsFunc(all, func(e expression) bool { return e.below(path) }) {
		return appendTable(text, path, s, nl)
	}
	if _, ok := find(all, true, path); !ok {
		return nil, fmt.Errorf("%w: the entry is not a table [%s]", ErrForm, strings.Join(path, "."))
	}
	for _, f := range []struct{ key, value string }{{"args", tomlList(s.Args)}, {"command", quote(s.Command)}} {
		if text, err = setKey(text, path, []string{f.key}, f.value, nl); err != nil {
			return nil, err
		}
	}
	return setVariables(text, path, s, nl)
}

// appendTable adds a table at the end.
func appendTable(text []byte, path []string, s Server, nl string) ([]byte, error) {
	var b strings.Builder
	if len(text) > 0 && text[len(text)-1] != '\n' {
		b.WriteString(nl)
	}
	if !blank(text) {
		b.WriteString(nl)
	}
	fmt.Fprintf(&b, "[%s.%s]%s", tomlKey(path[0]), tomlKey(path[1]), nl)
	fmt.Fprintf(&b, "command = %s%s", quote(s.Command), nl)
	fmt.Fprintf(&b, "args = %s%s", tomlList(s.Args), nl)
	if env := s.set(); len(env) > 0 {
		fmt.Fprintf(&b, "env = %s%s", inline(env), nl)
	}
	return slices.Concat(text, []byte(b.String())), nil
}

// set returns the variables that have a value.
func (s Server) set() map[string]string {
	env := maps.Clone(s.Env)
	maps.DeleteFunc(env, func(_, value string) bool { return value == "" })
	return env
}

// setKey sets a key of a table, unless it has that value. A new one follows the header.
func setKey(text []byte, table, key []string, value, nl string) ([]byte, error) {
	all, err := expressions(text)
	if err != nil {
		return nil, err
	}
	path := slices.Concat(table, key)
	if e, ok := find(all, false, path); ok {
		if sameTOML(text[e.valueFrom:e.valueTo], value) {
			return text, nil
		}
		return splice(text, e.valueFrom, e.valueTo, value), nil
	}
	header, _ := find(all, true, table)
	quoted := make([]string, len(key))
	for i, part := range key {
		quoted[i] = tomlKey(part)
	}
	added := strings.Join(quoted, ".") + " = " + value + nl
	if text[header.to-1] != '\n' {
		added = nl + added
	}
	return splice(text, header.to, header.to, added), nil
}

// sameTOML reports whether two values are the same.
func sameTOML(a []byte, b string) bool {
	x, err := decodeTOML(slices.Concat([]byte("v = "), a))
	y, errToo := decodeTOML([]byte("v = " + b))
	return err == nil && errToo == nil && fmt.Sprintf("%#v", x) == fmt.Sprintf("%#v", y)
}

// setVariables sets and removes variables of an entry, however they are written: in a table
// of their own, with dots, or in an inline table.
func setVariables(text []byte, path []string, s Server, nl string) ([]byte, error) {
	here := append(slices.Clone(path), "env")
	for _, key := range sortedKeys(s.Env) {
		all, err := expressions(text)
		if err != nil {
			return nil, err
		}
		value := s.Env[key]
		e, written := find(all, false, append(slices.Clone(here), key))
		_, table := find(all, true, here)
		whole, inlined := find(all, false, here)
		switch {
		case written && value == "":
			text = splice(text, e.from, e.to, "")
		case written:
			text = splice(text, e.valueFrom, e.valueTo, quote(value))
		case inlined:
			if text, err = setInline(text, whole, key, value); err != nil {
				return nil, err
			}
		case value == "":
		case table:
			text, err = setKey(text, here, []string{key}, quote(value), nl)
		case slices.ContainsFunc(all, func(e expression) bool { return e.below(here) }): // with dots
			text, err = setKey(text, path, []string{"env", key}, quote(value), nl)
		default:
			text, err = setKey(text, path, []string{"env"}, inline(map[string]string{key: value}), nl)
		}
		if err != nil {
			return nil, err
		}
	}
	return text, nil
}

// setInline sets or removes a variable of an inline table.
func setInline(text []byte, whole expression, key, value string) ([]byte, error) {
	decoded, err := decodeTOML(slices.Concat([]byte("v = "), text[whole.valueFrom:whole.valueTo]))
	if err != nil {
		return nil, err
	}
	old, ok := decoded["v"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%w: env is no table", ErrForm)
	}
	env := map[string]string{}
	for k, v := range old {
		if env[k], ok = v.(string); !ok {
			return nil, fmt.Errorf("%w: the variable %s is no string", ErrForm, k)
		}
	}
	if was, ok := env[key]; ok == (value != "") && was == value {
		return text, nil
	}
	if env[key] = value; value == "" {
		delete(env, key)
	}
	if len(env) == 0 {
		return splice(text, whole.from, whole.to, ""), nil
	}
	return splice(text, whole.valueFrom, whole.valueTo, inline(env)), nil
}

// removeTable removes the tables and keys of a server, with the empty line before them.
// Comments stay.
func removeTable(text []byte, servers, name string) ([]byte, error) {
	all, err := expressions(text)
	if err != nil {
		return nil, err
	}
	path := []string{servers, name}
	removed := false
	for i := len(all) - 1; i >= 0; i-- {
		e := all[i]
		if !e.below(path) {
			continue
		}
		removed = true
		from := e.from
		if e.header && endsEmpty(text[:from]) && (e.to == len(text) || startsEmpty(text[e.to:])) {
			from = lastLine(text[:from])
		}
		text = splice(text, from, e.to, "")
	}
	if !removed {
		return nil, fmt.Errorf("%w: the servers are an inline table", ErrForm)
	}
	return text, nil
}

// lastLine returns the offset of the last line of a text that ends with a newline.
func lastLine(text []byte) int {
	return bytes.LastIndexByte(text[:max(len(text)-1, 0)], '\n') + 1
}

// endsEmpty reports whether the last line of a text is empty.
func endsEmpty(text []byte) bool {
	return len(text) > 0 && blank(text[lastLine(text):])
}

// startsEmpty reports whether the first line of a text is empty.
func startsEmpty(text []byte) bool {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	return blank(first)
}
