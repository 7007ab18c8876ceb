package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"

	"memento/internal/strictjson"
)

// Errors of edits. None of them has changed anything.
var (
	// ErrBroken says that a text is not of the client's format.
	ErrBroken = errors.New("the file cannot be read")

	// ErrForm says that a text is valid, but written in a way that cannot be edited in place.
	ErrForm = errors.New("the file cannot be edited")

	// ErrOther says that another server has the name.
	ErrOther = errors.New("another server has this name")

	// ErrName says that a name cannot be used.
	ErrName = errors.New("a name has 1 to 64 letters, digits, hyphens and underscores")
)

// A Server is what a client starts: memento with the arguments of "memento mcp".
type Server struct {
	Command string   // path of the program
	Args    []string // "mcp" and its flags

	// Env has the variables that memento sets. One whose value is "" is removed.
	Env map[string]string
}

// names are those that every client accepts, and that TOML needs not quote.
var names = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// mark is what editors of Windows put before UTF-8.
var mark = []byte("\xef\xbb\xbf")

// Set returns the text of the client's file with a server under a name. What is not part of
// that entry keeps its bytes. Of an entry that is there already only the command, the
// arguments and the variables of s change. An empty text is a file that does not exist.
//
// Errors: ErrName, ErrBroken, ErrForm, ErrOther.
func (c Client) Set(text []byte, name string, s Server) ([]byte, error) {
	if !names.MatchString(name) {
		return nil, fmt.Errorf("%w, unlike %q", ErrName, name)
	}
	body, marked := bytes.CutPrefix(text, mark)
	before, err := c.decode(body)
	if err != nil {
		return nil, err
	}
	if old, ok, err := c.entry(before, name); err != nil {
		return nil, err
	} else if ok && !ours(old) {
		return nil, fmt.Errorf("%w: %s", ErrOther, name)
	}
	edited, err := c.set(body, name, s)
	if err != nil {
		return nil, err
	}
	if err := c.verify(before, edited, name); err != nil {
		return nil, err
	}
	after, err := c.decode(edited)
	if err != nil {
		return nil, err
	}
	if got, ok, err := c.entry(after, name); err != nil || !ok || !s.written(got) {
		return nil, fmt.Errorf("%w: the entry %s could not be written", ErrForm, name)
	}
	if marked {
		edited = append(bytes.Clone(mark), edited...)
	}
	return edited, nil
}

// Remove returns the text of the client's file without the server of a name, and whether
// there was one.
//
// Errors: ErrName, ErrBroken, ErrForm, ErrOther.
func (c Client) Remove(text []byte, name string) ([]byte, bool, error) {
	if !names.MatchString(name) {
		return nil, false, fmt.Errorf("%w, unlike %q", ErrName, name)
	}
	body, marked := bytes.CutPrefix(text, mark)
	before, err := c.decode(body)
	if err != nil {
		return nil, false, err
	}
	old, ok, err := c.entry(before, name)
	if err != nil || !ok {
		return text, false, err
	}
	if !ours(old) {
		return nil, false, fmt.Errorf("%w: %s", ErrOther, name)
	}
	var edited []byte
	if c.format == toml {
		edited, err = removeTable(body, c.Servers, name)
	} else {
		edited, err = removeMember(body, c.Servers, name)
	}
	if err != nil {
		return nil, false, err
	}
	if err := c.verify(before, edited, name); err != nil {
		return nil, false, err
	}
	if marked {
		edited = append(bytes.Clone(mark), edited...)
	}
	return edited, true, nil
}

// Get returns the server of a name, and whether there is one that memento wrote.
//
// Errors: ErrBroken, ErrForm.
func (c Client) Get(text []byte, name string) (Server, bool, error) {
	all, err := c.decode(bytes.TrimPrefix(text, mark))
	if err != nil {
		return Server{}, false, err
	}
	entry, ok, err := c.entry(all, name)
	if err != nil || !ok || !ours(entry) {
		return Server{}, false, err
	}
	var s Server
	s.Command, _ = entry["command"].(string)
	s.Args, _ = stringsOf(entry["args"])
	if env, ok := entry["env"].(map[string]any); ok {
		s.Env = map[string]string{}
		for key, value := range env {
			s.Env[key], _ = value.(string)
		}
	}
	return s, true, nil
}

func (c Client) set(text []byte, name string, s Server) ([]byte, error) {
	if c.format == toml {
		return setTable(text, c.Servers, name, s)
	}
	return setMember(text, c.Servers, name, s, c.typed)
}

// decode returns what a text says. Errors: ErrBroken.
func (c Client) decode(text []byte) (map[string]any, error) {
	if c.format == toml {
		return decodeTOML(text)
	}
	return decodeJSONC(text)
}

// entry returns the entry of a name, and whether there is one. Errors: ErrForm.
func (c Client) entry(all map[string]any, name string) (map[string]any, bool, error) {
	value, ok := all[c.Servers]
	if !ok {
		return nil, false, nil
	}
	servers, ok := value.(map[string]any)
	if !ok {
		return nil, false, fmt.Errorf("%w: %q is no object of servers", ErrForm, c.Servers)
	}
	if value, ok = servers[name]; !ok {
		return nil, false, nil
	}
	entry, ok := value.(map[string]any)
	if !ok {
		return nil, false, fmt.Errorf("%w: the entry %s is no object", ErrForm, name)
	}
	return entry, true, nil
}

// ours reports whether an entry is one that memento wrote: it runs "… mcp".
func ours(entry map[string]any) bool {
	args, ok := stringsOf(entry["args"])
	_, runs := entry["command"].(string)
	return ok && runs && len(args) > 0 && args[0] == "mcp"
}

// written reports whether an entry says what s says.
func (s Server) written(entry map[string]any) bool {
	args, ok := stringsOf(entry["args"])
	if !ok || entry["command"] != s.Command || len(args) != len(s.Args) {
		return false
	}
	for i, arg := range args {
		if arg != s.Args[i] {
			return false
		}
	}
	env, _ := entry["env"].(map[string]any)
	for key, want := range s.Env {
		if got, ok := env[key]; ok != (want != "") || ok && got != want {
			return false
		}
	}
	return true
}

// stringsOf returns a decoded list of strings.
func stringsOf(value any) ([]string, bool) {
	list, ok := value.([]any)
	if !ok {
		return nil, false
	}
	found := make([]string, len(list))
	for i, one := range list {
		if found[i], ok = one.(string); !ok {
			return nil, false
		}
	}
	return found, true
}

// verify checks that an edited text says the same as before, except of the entry of a name.
func (c Client) verify(before map[string]any, edited []byte, name string) error {
	after, err := c.decode(edited)
	if err != nil {
		return fmt.Errorf("%w: the edited text would be invalid: %w", ErrForm, err)
	}
	if !reflect.DeepEqual(c.without(before, name), c.without(after, name)) {
		return fmt.Errorf("%w: the edit would change other entries", ErrForm)
	}
	return nil
}

// without returns a decoded file without the entry of a name, and without servers if it has no
// other.
func (c Client) without(all map[string]any, name string) map[string]any {
	rest := maps.Clone(all)
	servers, ok := rest[c.Servers].(map[string]any)
	if !ok {
		return rest
	}
	servers = maps.Clone(servers)
	delete(servers, name)
	if rest[c.Servers] = servers; len(servers) == 0 {
		delete(rest, c.Servers)
	}
	return rest
}

// quote returns a string as JSON, which TOML reads as well.
func quote(s string) string { return string(strictjson.Quote(s)) }

// newline returns how a text ends its lines.
func newline(text []byte) string {
	if bytes.Contains(text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}
