package cluster

import (
	"fmt"
	"path"
	"strings"

	"memento"
)

// An arena is the model's state of one directory: the contents of its memories, in the
// short form made by shorten; "" if there is none.
//
// The first two cells are in a directory of their own, and so are the next two; the last
// is a log to which lines are only inserted.
type arena [5]string

const logCell = 4

// arenaDir is the directory of an arena.
func arenaDir(n int) memento.Path { return memento.Path(fmt.Sprintf("/arena%03d", n)) }

// cellPath returns the path of a cell of an arena.
func cellPath(n, cell int) memento.Path {
	if cell == logCell {
		return arenaDir(n).Join("log")
	}
	return dirPath(n, cell/2).Join(fmt.Sprint(cell % 2))
}

func dirPath(n, dir int) memento.Path { return arenaDir(n).Join([]string{"d", "e"}[dir]) }

// cellAt is the inverse of cellPath.
func cellAt(p memento.Path) (n, cell int, ok bool) {
	if _, err := fmt.Sscanf(string(p), "/arena%03d/", &n); err != nil {
		return 0, 0, false
	}
	for cell := range len(arena{}) {
		if cellPath(n, cell) == p {
			return n, cell, true
		}
	}
	return 0, 0, false
}

// Contents are lines. The first is a token of the call that wrote it, "v17;", the others
// are what calls have inserted, "i18;", and the last may be filling.

func token(op int) string    { return fmt.Sprintf("v%d;", op) }
func inserted(op int) string { return fmt.Sprintf("i%d;", op) }

// value returns what a call writes, in short form. Every fifth value is so long that
// backends store it separately.
func value(op int) string {
	if op%5 == 0 {
		return fmt.Sprintf("%s\nf%d\n", token(op), op)
	}
	return token(op) + "\n"
}

// filling returns the line that stands for a short one in an actual memory.
func filling(short string) string {
	return short + ":" + strings.Repeat("0123456789abcdef", 1200) + "\n"
}

// lengthen returns the actual contents of a short form.
func lengthen(short string) string {
	var b strings.Builder
	for line := range strings.Lines(short) {
		if line[0] == 'f' {
			line = filling(strings.TrimSuffix(line, "\n"))
		}
		b.WriteString(line)
	}
	return b.String()
}

// shorten is the inverse of lengthen. Contents that no call can have written are returned
// unchanged.
func shorten(content string) string {
	var b strings.Builder
	for line := range strings.Lines(content) {
		if short, _, long := strings.Cut(line, ":"); long && line[0] == 'f' {
			line = short + "\n"
		}
		b.WriteString(line)
	}
	short := b.String()
	if lengthen(short) != content {
		return fmt.Sprintf("torn contents of %d bytes: %.80q", len(content), content)
	}
	return short
}

// An op is a call, as made by clients and as understood by the model.
type op struct {
	ID    int
	Arena int
	Kind  string
	From  int    // a cell, or a directory
	To    int    // likewise
	Old   string // what "if" and "replace" expect: short contents, or a token
	Via   string // the interface of the server that is called

	Server int // the server that is called
}

func (o op) String() string {
	s := fmt.Sprintf("%d: %s %d", o.ID, o.Kind, o.From)
	if o.To != o.From {
		s += fmt.Sprint(" to ", o.To)
	}
	if o.Old != "" {
		s += fmt.Sprintf(" if %q", o.Old)
	}
	return fmt.Sprintf("%s (arena %d, server %d, %s)", s, o.Arena, o.Server, o.Via)
}

// reads reports whether a call changes nothing.
func (o op) reads() bool { return o.Kind == "get" || o.Kind == "view" || o.Kind == "list" }

// A result is the result of a call.
type result struct {
	Refused string // error of the tool or the backend; "" if none
	Cells   arena  // of list; for other reads, the first is what was read
}

// step is the model: it returns the arena after a call, and the call's result.
func (o op) step(s arena) (arena, result) {
	switch o.Kind {
	case "get":
		return s, result{Cells: arena{s[o.From]}}
	case "view": // only the first line is requested
		first, _, _ := strings.Cut(s[o.From], "\n")
		return s, result{Cells: arena{first}}
	case "list":
		return s, result{Cells: s}
	case "put":
		s[o.From] = value(o.ID)
	case "create":
		if s[o.From] != "" {
			return s, result{Refused: "exist"}
		}
		s[o.From] = value(o.ID)
	case "if":
		if s[o.From] != o.Old {
			return s, result{Refused: "conflict"}
		}
		s[o.From] = value(o.ID)
	case "replace":
		switch {
		case s[o.From] == "":
			return s, result{Refused: "missing"}
		case !strings.Contains(s[o.From], o.Old):
			return s, result{Refused: "no match"}
		}
		s[o.From] = strings.Replace(s[o.From], o.Old, token(o.ID), 1)
	case "insert":
		if s[o.From] == "" {
			return s, result{Refused: "missing"}
		}
		first, rest, _ := strings.Cut(s[o.From], "\n")
		s[o.From] = first + "\n" + inserted(o.ID) + "\n" + rest
	case "remove":
		if s[o.From] == "" {
			return s, result{Refused: "missing"}
		}
		s[o.From] = ""
	case "move", "rewrite":
		switch {
		case s[o.From] == "":
			return s, result{Refused: "missing"}
		case s[o.To] != "":
			return s, result{Refused: "exist"}
		}
		s[o.To], s[o.From] = s[o.From], ""
		if o.Kind == "rewrite" {
			s[o.To] = value(o.ID)
		}
	case "pair": // atomically, and only if the second is absent
		if s[o.To] != "" {
			return s, result{Refused: "exist"}
		}
		s[o.From], s[o.To] = value(o.ID), value(o.ID)
	case "remove dir":
		dir := s[2*o.From : 2*o.From+2]
		if dir[0]+dir[1] == "" {
			return s, result{Refused: "missing"}
		}
		clear(dir)
	case "move dir":
		from, to := s[2*o.From:2*o.From+2], s[2*o.To:2*o.To+2]
		switch {
		case from[0]+from[1] == "":
			return s, result{Refused: "missing"}
		case to[0]+to[1] != "":
			return s, result{Refused: "exist"}
		}
		copy(to, from)
		clear(from)
	default:
		panic("no such call: " + o.Kind)
	}
	return s, result{}
}

// changes returns the changes of a call that is made through Apply.
func (o op) changes() []memento.Change {
	from, to := cellPath(o.Arena, o.From), cellPath(o.Arena, o.To)
	content := lengthen(value(o.ID))
	switch o.Kind {
	case "put":
		return []memento.Change{memento.Put{Path: from, Content: content}}
	case "create":
		return []memento.Change{memento.Put{Path: from, Content: content, If: memento.IfAbsent()}}
	case "if":
		return []memento.Change{memento.Put{Path: from, Content: content, If: memento.IfSHA256(memento.HashContent(lengthen(o.Old)))}}
	case "remove":
		return []memento.Change{memento.Remove{Path: from}}
	case "move":
		return []memento.Change{memento.Move{From: from, To: to}}
	case "rewrite":
		return []memento.Change{memento.Move{From: from, To: to, Content: &content}}
	case "pair":
		return []memento.Change{
			memento.Put{Path: from, Content: content},
			memento.Put{Path: to, Content: content, If: memento.IfAbsent()},
		}
	case "remove dir":
		return []memento.Change{memento.Remove{Path: dirPath(o.Arena, o.From)}}
	case "move dir":
		return []memento.Change{memento.Move{From: dirPath(o.Arena, o.From), To: dirPath(o.Arena, o.To)}}
	}
	return nil
}

// toolInput returns the input of the memory tool for a call that is made through it.
func (o op) toolInput() map[string]any {
	at := func(p memento.Path) string { return path.Join("/memories", string(p)) }
	from, to := at(cellPath(o.Arena, o.From)), at(cellPath(o.Arena, o.To))
	switch o.Kind {
	case "view":
		return map[string]any{"command": "view", "path": from, "view_range": []int{1, 1}}
	case "create":
		return map[string]any{"command": "create", "path": from, "file_text": lengthen(value(o.ID))}
	case "replace":
		return map[string]any{"command": "str_replace", "path": from, "old_str": o.Old, "new_str": token(o.ID)}
	case "insert":
		return map[string]any{"command": "insert", "path": from, "insert_line": 1, "insert_text": inserted(o.ID)}
	case "remove":
		return map[string]any{"command": "delete", "path": from}
	case "move":
		return map[string]any{"command": "rename", "old_path": from, "new_path": to}
	case "remove dir":
		return map[string]any{"command": "delete", "path": at(dirPath(o.Arena, o.From))}
	case "move dir":
		return map[string]any{"command": "rename", "old_path": at(dirPath(o.Arena, o.From)), "new_path": at(dirPath(o.Arena, o.To))}
	}
	return nil
}
