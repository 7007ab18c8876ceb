package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// JSON with comments is parsed for the places of its values, and then edited as text.

// maxDepth is the largest number of levels of lists and objects: that of encoding/json. The
// parser is recursive and has no limit of its own.
const maxDepth = 10_000

// parse returns the object that a text is. Errors: ErrBroken.
func parse(text []byte) (*hujson.Object, error) {
	if tooDeep(text) {
		return nil, fmt.Errorf("%w: it has more than %d levels", ErrBroken, maxDepth)
	}
	v, err := hujson.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrBroken, strings.TrimPrefix(err.Error(), "hujson: "))
	}
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("%w: it is no JSON object", ErrBroken)
	}
	return o, nil
}

// tooDeep reports whether a text may have more than maxDepth levels.
func tooDeep(text []byte) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			if depth++; depth > maxDepth {
				return true
			}
		case '}', ']':
			depth--
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '/':
			switch rest := text[i:]; {
			case bytes.HasPrefix(rest, []byte("//")):
				if n := bytes.IndexByte(rest, '\n'); n >= 0 {
					i += n
				}
			case bytes.HasPrefix(rest, []byte("/*")):
				if n := bytes.Index(rest[2:], []byte("*/")); n >= 0 {
					i += n + 3
				}
			}
		}
	}
	return false
}

// decodeJSONC returns what a text says. Errors: ErrBroken.
func decodeJSONC(text []byte) (map[string]any, error) {
	all := map[string]any{}
	if blank(text) {
		return all, nil
	}
	if _, err := parse(text); err != nil {
		return nil, err
	}
	plain, err := hujson.Standardize(bytes.Clone(text))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	d := json.NewDecoder(bytes.NewReader(plain))
	d.UseNumber()
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return all, nil
}

func blank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// errTwice says that two programs may disagree about the meaning of an object.
var errTwice = fmt.Errorf("%w: a name appears twice", ErrForm)

// member returns the index of a member of an object; -1 for none. Errors: errTwice.
func member(o *hujson.Object, name string) (int, error) {
	is := func(m hujson.ObjectMember) bool {
		literal, ok := m.Name.Value.(hujson.Literal)
		return ok && literal.String() == name
	}
	i := slices.IndexFunc(o.Members, is)
	if i >= 0 && slices.ContainsFunc(o.Members[i+1:], is) {
		return 0, fmt.Errorf("%w: %q", errTwice, name)
	}
	return i, nil
}

// at returns the value that a path of names leads to, and the offset of its end; nil if there
// is none. Errors: ErrBroken, ErrForm.
func at(text []byte, path []string) (*hujson.Value, error) {
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	v := &root
	for i, name := range path {
		o, ok := v.Value.(*hujson.Object)
		if !ok {
			return nil, fmt.Errorf("%w: %s is no object", ErrForm, strings.Join(path[:i], "."))
		}
		m, err := member(o, name)
		if m < 0 || err != nil {
			return nil, err
		}
		v = &o.Members[m].Value
	}
	return v, nil
}

// setMember puts a server into the object of servers.
func setMember(text []byte, servers, name string, s Server, typed bool) ([]byte, error) {
	if blank(text) {
		text = slices.Concat(text, []byte("{}\n"))
	}
	v, err := at(text, []string{servers})
	if err != nil {
		return nil, err
	}
	if v == nil {
		return upsert(text, nil, servers, object{{name, s.object(typed)}})
	}
	if v, err = at(text, []string{servers, name}); err != nil {
		return nil, err
	}
	if v == nil {
		return upsert(text, []string{servers}, name, s.object(typed))
	}
	// Only what differs is written, so that the rest of the entry stays as the user has it.
	here := []string{servers, name}
	for _, field := range s.object(typed) {
		if field.name == "env" {
			continue
		}
		if text, err = upsert(text, here, field.name, field.value); err != nil {
			return nil, err
		}
	}
	if v, err = at(text, append(here, "env")); err != nil {
		return nil, err
	}
	if env := s.env(); v == nil && len(env) > 0 {
		return upsert(text, here, "env", env)
	}
	for _, key := range sortedKeys(s.Env) {
		if v == nil {
			break
		}
		if s.Env[key] == "" {
			text, err = removeAt(text, append(slices.Clone(here), "env"), key)
		} else {
			text, err = upsert(text, append(slices.Clone(here), "env"), key, s.Env[key])
		}
		if err != nil {
			return nil, err
		}
	}
	return text, nil
}

// An object is a JSON object in order.
type object []field

type field struct {
	name  string
	value any // a string, a list of strings or an object
}

// object returns the entry of a server.
func (s Server) object(typed bool) object {
	var o object
	if typed {
		o = append(o, field{"type", "stdio"})
	}
	o = append(o, field{"command", s.Command}, field{"args", s.Args})
	if env := s.env(); len(env) > 0 {
		o = append(o, field{"env", env})
	}
	return o
}

// env returns the variables that have a value.
func (s Server) env() object {
	var o object
	for _, key := range sortedKeys(s.Env) {
		if s.Env[key] != "" {
			o = append(o, field{key, s.Env[key]})
		}
	}
	return o
}

// A layout is how the lines of a text are.
type layout struct {
	newline string
	unit    string // one level of indentation
	compact bool   // one line for everything
}

// write returns a value as JSON whose first line is indented by before. Lists of strings are
// on one line.
func (l layout) write(value any, before string) string {
	switch v := value.(type) {
	case string:
		return quote(v)
	case []string:
		quoted := make([]string, len(v))
		for i, one := range v {
			quoted[i] = quote(one)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	case object:
		lines := make([]string, len(v))
		for i, f := range v {
			lines[i] = l.member(f.name, f.value, before+l.unit)
		}
		if l.compact {
			return "{" + strings.Join(lines, ", ") + "}"
		}
		inner := l.newline + before + l.unit
		return "{" + inner + strings.Join(lines, ","+inner) + l.newline + before + "}"
	}
	return "null" // there is no other kind of value
}

func (l layout) member(name string, value any, before string) string {
	return quote(name) + ": " + l.write(value, before)
}

// layoutOf returns how the lines of an object's text are.
func layoutOf(text []byte, root *hujson.Object) layout {
	l := layout{newline: newline(text), unit: "  "}
	if len(root.Members) == 0 {
		return l
	}
	first := root.Members[0].Name.StartOffset
	if before, alone := indentation(text, first); alone && before != "" {
		l.unit = before
	}
	l.compact = !bytes.ContainsRune(bytes.TrimSpace(text), '\n')
	return l
}

// indentation returns the white space before the line of an offset, and whether nothing else
// is before the offset.
func indentation(text []byte, offset int) (string, bool) {
	start := bytes.LastIndexByte(text[:offset], '\n') + 1
	line := text[start:offset]
	rest := bytes.TrimLeft(line, " \t")
	return string(line[:len(line)-len(rest)]), len(rest) == 0
}

// upsert sets a member of the object that a path leads to, unless it has that value already.
// A new one is added at the end.
func upsert(text []byte, path []string, name string, value any) ([]byte, error) {
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	l := layoutOf(text, root)
	v, err := at(text, path)
	if err != nil {
		return nil, err
	}
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("%w: %s is no object", ErrForm, strings.Join(path, "."))
	}
	i, err := member(o, name)
	if err != nil {
		return nil, err
	}
	if i >= 0 {
		old := o.Members[i].Value
		before, _ := indentation(text, o.Members[i].Name.StartOffset)
		if says(text[old.StartOffset:old.EndOffset], value) {
			return text, nil
		}
		return splice(text, old.StartOffset, old.EndOffset, l.write(value, before)), nil
	}

	closing := v.EndOffset - 1 // of the brace
	if len(o.Members) == 0 {
		inner := text[v.StartOffset+1 : closing]
		from := v.StartOffset + 1 + len(bytes.TrimRight(inner, " \t\r\n"))
		before, _ := indentation(text, v.StartOffset)
		if l.compact {
			return splice(text, closing, closing, l.member(name, value, "")), nil
		}
		added := l.newline + before + l.unit + l.member(name, value, before+l.unit)
		if bytes.ContainsAny(text[from:closing], "\t\r\n") { // white space that the new lines would not have
			return splice(text, from, from, added), nil
		}
		return splice(text, from, closing, added+l.newline+before), nil
	}

	last := o.Members[len(o.Members)-1]
	comma := last.Value.EndOffset + len(last.Value.AfterExtra)
	trailing := comma < closing && text[comma] == ','
	before, alone := indentation(text, last.Name.StartOffset)
	from := closing - len(text[:closing]) + len(bytes.TrimRight(text[:closing], " \t\r\n")) // after the last comment
	var added string
	if alone {
		added = l.newline + before + l.member(name, value, before)
	} else {
		l.compact = !bytes.ContainsRune(text[last.Name.StartOffset:closing], '\n') // nor is there a line comment
		if added = " " + l.member(name, value, before); !l.compact {
			added = l.newline + before + l.unit + l.member(name, value, before+l.unit)
		}
	}
	if trailing {
		return splice(text, from, from, added+","), nil
	}
	text = splice(text, from, from, added)
	return splice(text, last.Value.EndOffset, last.Value.EndOffset, ","), nil
}

// says reports whether a text is a value.
func says(text []byte, value any) bool {
	plain, err := hujson.Standardize(bytes.Clone(text))
	if err != nil {
		return false
	}
	l := layout{compact: true}
	var a, b bytes.Buffer
	return errors.Join(json.Compact(&a, plain), json.Compact(&b, []byte(l.write(value, "")))) == nil && bytes.Equal(a.Bytes(), b.Bytes())
}

func splice(text []byte, from, to int, with string) []byte {
	return slices.Concat(text[:from], []byte(with), text[to:])
}

// removeMember removes a server from the object of servers.
func removeMember(text []byte, servers, name string) ([]byte, error) {
	return removeAt(text, []string{servers}, name)
}

// removeAt removes a member of the object that a path leads to, with its lines. Comments stay.
func removeAt(text []byte, path []string, name string) ([]byte, error) {
	v, err := at(text, path)
	if err != nil || v == nil {
		return text, err
	}
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("%w: %s is no object", ErrForm, strings.Join(path, "."))
	}
	i, err := member(o, name)
	if i < 0 || err != nil {
		return text, err
	}
	m := o.Members[i]
	from, to := m.Name.StartOffset, m.Value.EndOffset
	comma := to + len(m.Value.AfterExtra)
	switch {
	case comma < v.EndOffset && text[comma] == ',':
		if comma == to {
			to++
		} else {
			text = splice(text, comma, comma+1, "")
		}
	case i > 0:
		end := o.Members[i-1].Value
		text = splice(text, end.EndOffset+len(end.AfterExtra), end.EndOffset+len(end.AfterExtra)+1, "")
		from, to = from-1, to-1
	}
	start := bytes.LastIndexByte(text[:from], '\n') + 1
	rest := bytes.TrimLeft(text[to:], " \t\r")
	if blank(text[start:from]) && len(rest) > 0 && rest[0] == '\n' {
		return splice(text, start, len(text)-len(rest)+1, ""), nil
	}
	if i == len(o.Members)-1 && !blank(text[start:from]) {
		return splice(text, len(bytes.TrimRight(text[:from], " \t")), to, ""), nil
	}
	return splice(text, from, len(text)-len(bytes.TrimLeft(text[to:], " \t")), ""), nil
}
