package gateway

import (
	"bytes"
	"errors"
	"slices"

	"memento/internal/strictjson"
)

// JSON is edited here as text: what is not replaced keeps its bytes.

// maxDepth is the largest number of levels of lists and objects: that of encoding/json.
const maxDepth = 10_000

// maxMembers is the largest number of members of an object. Those of the API have some
// dozens.
const maxMembers = 1000

// maxElements is the largest number of elements of a list: the API takes as many messages.
const maxElements = 100_000

var (
	errDuplicate = errors.New("a member appears twice")
	errMembers   = errors.New("an object has too many members")
	errElements  = errors.New("a list has too many elements")
)

// An object is a JSON object as it is written.
type object struct {
	text    []byte
	members []member
}

// fewMembers is how many members are compared one by one.
const fewMembers = 16

// A member is a member of an object. Its value is text[from:to] of the object.
type member struct {
	name     string
	from, to int
}

// parseObject reads an object. An object with the same name twice is refused, because
// two programs may disagree about its meaning.
func parseObject(text []byte) (object, error) {
	s := strictjson.Scanner{Text: text, MaxDepth: maxDepth, Loose: true}
	if err := s.Take('{'); err != nil {
		return object{}, err
	}
	o := object{text: text}
	var names map[string]struct{} // of an object with many members
	for n := 0; ; n++ {
		more, err := s.Next('}', n)
		if err != nil {
			return object{}, err
		}
		if !more {
			break
		}
		raw, err := s.Key()
		if err != nil {
			return object{}, err
		}
		name := strictjson.Unquote(raw)
		switch {
		case n == maxMembers:
			return object{}, errMembers
		case n < fewMembers:
			if o.index(name) >= 0 {
				return object{}, errDuplicate
			}
		default:
			if names == nil {
				names = make(map[string]struct{}, 2*fewMembers)
				for _, m := range o.members {
					names[m.name] = struct{}{}
				}
			}
			if _, twice := names[name]; twice {
				return object{}, errDuplicate
			}
			names[name] = struct{}{}
		}
		value, err := s.Value(1)
		if err != nil {
			return object{}, err
		}
		o.members = append(o.members, member{name, s.At - len(value), s.At})
	}
	return o, s.End()
}

func (o object) index(name string) int {
	return slices.IndexFunc(o.members, func(m member) bool { return m.name == name })
}

// get returns the value of a member as it is written; nil if it is absent or null.
func (o object) get(name string) []byte {
	i := o.index(name)
	if i < 0 {
		return nil
	}
	m := o.members[i]
	value := o.text[m.from:m.to:m.to]
	if string(value) == "null" {
		return nil
	}
	return value
}

// str returns a member that is a string; "" for any other value.
func (o object) str(name string) string {
	value := o.get(name)
	if len(value) == 0 || value[0] != '"' {
		return ""
	}
	return strictjson.Unquote(value)
}

// set returns the object with another value of a member. One that the object lacks is
// added at the end.
func (o object) set(name string, value []byte) object {
	edited := object{members: slices.Clone(o.members)}
	if i := o.index(name); i >= 0 {
		m := o.members[i]
		edited.text = slices.Concat(o.text[:m.from], value, o.text[m.to:])
		shift := len(value) - (m.to - m.from)
		edited.members[i].to += shift
		for j := i + 1; j < len(edited.members); j++ {
			edited.members[j].from += shift
			edited.members[j].to += shift
		}
		return edited
	}
	end := bytes.IndexByte(o.text, '{') + 1
	var added []byte
	if n := len(o.members); n > 0 {
		end = o.members[n-1].to
		added = append(added, ',')
	}
	added = append(append(added, strictjson.Quote(name)...), ':')
	from := end + len(added)
	edited.text = slices.Concat(o.text[:end], added, value, o.text[end:])
	edited.members = append(edited.members, member{name, from, from + len(value)})
	return edited
}

// without returns the object without a member.
func (o object) without(name string) object {
	i := o.index(name)
	if i < 0 {
		return o
	}
	// From the end of the member before, or up to the start of the one after.
	var from, to int
	switch {
	case i > 0:
		from, to = o.members[i-1].to, o.members[i].to
	case len(o.members) > 1:
		from, to = bytes.IndexByte(o.text, '{')+1, o.members[i].to
		for o.text[to] != ',' {
			to++
		}
		to++
	default:
		from, to = bytes.IndexByte(o.text, '{')+1, o.members[i].to
	}
	edited, err := parseObject(slices.Concat(o.text[:from], o.text[to:]))
	if err != nil {
		return o // it was parsed before
	}
	return edited
}

// elements returns the elements of a list as they are written.
func elements(list []byte) ([][]byte, error) {
	s := strictjson.Scanner{Text: list, MaxDepth: maxDepth, Loose: true}
	if err := s.Take('['); err != nil {
		return nil, err
	}
	var all [][]byte
	for n := 0; ; n++ {
		more, err := s.Next(']', n)
		if err != nil {
			return nil, err
		}
		if !more {
			return all, s.End()
		}
		if n == maxElements {
			return nil, errElements
		}
		value, err := s.Value(1)
		if err != nil {
			return nil, err
		}
		all = append(all, value)
	}
}

// appended returns a list with further elements at its end.
func appended(list []byte, more ...[]byte) []byte {
	if len(more) == 0 {
		return list
	}
	end := len(list) - 1
	for list[end] != ']' {
		end--
	}
	empty := true
	for _, b := range list[:end] {
		if b != '[' && b != ' ' && b != '\t' && b != '\r' && b != '\n' {
			empty = false
			break
		}
	}
	size := len(list)
	for _, e := range more {
		size += len(e) + 1
	}
	edited := append(make([]byte, 0, size), list[:end]...)
	for _, e := range more {
		if !empty {
			edited = append(edited, ',')
		}
		edited = append(edited, e...)
		empty = false
	}
	return append(edited, list[end:]...)
}

// listOf returns a list of elements.
func listOf(all [][]byte) []byte { return appended([]byte("[]"), all...) }
