package storetest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"memento"
)

// hostile sends the memory tool, on the backend, input as a manipulated agent could send
// it. Each answer must be one of the documented sentences, and nothing outside of the
// store may be read or changed.
func hostile(t *testing.T, h Harness) {
	h.run(t, "hostile paths", hostilePaths)
	h.run(t, "hostile names", hostileNames)
	h.run(t, "hostile input", hostileInput)
}

const canary = "canary: must stay unread"

// surround creates files around the backend's data, and returns a function that checks
// that they are unchanged and that there are no others.
func (e *env) surround() (check func(what string)) {
	e.Helper()
	// The folder with the data is one of several in the test's folder.
	around := filepath.Join(filepath.Dir(e.dir), "around")
	for _, name := range []string{"canary.txt", "memories_backup/canary.txt", "memoriesX/canary.txt", "etc/passwd"} {
		p := filepath.Join(around, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			e.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(canary), 0o600); err != nil {
			e.Fatal(err)
		}
	}
	look := func() map[string]string {
		found := map[string]string{}
		err := filepath.WalkDir(filepath.Dir(e.dir), func(p string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case p == e.dir:
				return fs.SkipDir // the backend's own data
			case d.IsDir():
				found[p] = "directory"
				return nil
			}
			data, err := os.ReadFile(p)
			found[p] = string(data)
			return err
		})
		if err != nil {
			e.Fatal(err)
		}
		return found
	}
	before := look()
	return func(what string) {
		e.Helper()
		if diff := cmp.Diff(before, look()); diff != "" {
			e.Fatalf("%s: something outside of the store changed (-before +after):\n%s", what, diff)
		}
	}
}

// documented has the beginnings of all sentences that refuse a path or an input.
var documented = []string{
	"Error: Path must start with /memories, got: ",
	"Error: Path ",         // … would escape /memories directory
	"Error: Invalid path ", // …: reason
	"Error: Invalid field ",
	"Error: Invalid `",
	"Error: Missing required field ",
	"Error: Unknown command ",
	"Error: The input ", // is not a JSON object, has no command
	"Error: The path ",  // … does not exist, cannot exist
	"Error: The destination ",
	"Error: File ", // … already exists
	"Error: Cannot ",
	"Error: Tool '",
	"Error: The text for ",
	"The path ", // … does not exist
	"File ",     // … exceeds maximum line limit
	"No replacement was performed",
}

// answer runs one command and checks the rules that hold for every answer.
func (e *env) answer(t *memento.Tool, input []byte) memento.Result {
	e.Helper()
	r := t.Run(e.Context(), input)
	if strings.Contains(r.Content, canary) {
		e.Errorf("%.100q: the answer has contents of files outside of the store: %.300q", input, r.Content)
	}
	if strings.Contains(r.Content, "failed to complete") {
		e.Errorf("%.100q: an internal error: %.300q", input, r.Content)
	}
	if r.IsError {
		for _, begin := range documented {
			if strings.HasPrefix(r.Content, begin) {
				return r
			}
		}
		e.Errorf("%.100q: the error is not documented: %.300q", input, r.Content)
	}
	return r
}

// commands returns all commands that take a path, with this path.
func commands(path string) (inputs [][]byte) {
	for _, c := range []map[string]any{
		{"command": "view", "path": path},
		{"command": "view", "path": path, "view_range": []int{1, -1}},
		{"command": "create", "path": path, "file_text": "hostile"},
		{"command": "str_replace", "path": path, "old_str": "a", "new_str": "hostile"},
		{"command": "insert", "path": path, "insert_line": 0, "insert_text": "hostile"},
		{"command": "delete", "path": path},
		{"command": "rename", "old_path": path, "new_path": "/memories/taken"},
		{"command": "rename", "old_path": "/memories/a.md", "new_path": path},
		{"command": "rename", "old_path": "/memories/dir", "new_path": path},
	} {
		inputs = append(inputs, encode(c))
	}
	return inputs
}

// encode writes JSON and leaves strings that are not UTF-8 unchanged.
func encode(c map[string]any) []byte {
	var b strings.Builder
	b.WriteByte('{')
	sep := ""
	for k, v := range c {
		text := []byte(nil)
		if s, ok := v.(string); ok {
			text = []byte(`"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\x00", `\u0000`,
				"\x1b", `\u001b`, "\x08", `\b`, "\x7f", `\u007f`).Replace(s) + `"`)
		} else {
			text, _ = json.Marshal(v)
		}
		fmt.Fprintf(&b, `%s"%s":%s`, sep, k, text)
		sep = ","
	}
	b.WriteByte('}')
	return []byte(b.String())
}

// hostilePaths are refused by every command, and change nothing.
func hostilePaths(e *env) {
	paths := refusedPaths()
	if len(paths) < 300 {
		e.Fatalf("the table has %d paths, want at least 300", len(paths))
	}
	e.fill("/a.md", "/dir/b.md", "/taken")
	unchanged := e.surround()
	tool := memento.NewTool(e.docs(e.b), nil)
	before := e.everything()
	for _, p := range paths {
		for _, input := range commands(p) {
			if r := e.answer(tool, input); !r.IsError {
				e.Errorf("%.200q was not refused: %.100q", input, r.Content)
			}
		}
		if diff := cmp.Diff(before, e.everything()); diff != "" {
			e.Fatalf("%q left a trace (-before +after):\n%s", p, diff)
		}
		unchanged(p)
	}
	e.Logf("%d paths, %d commands refused", len(paths), len(paths)*len(commands("")))
}

// refusedPaths returns the table of paths.
func refusedPaths() []string {
	paths := []string{
		// Not below /memories, or a sibling whose name begins with it.
		"", "/", "//", "/memorie", "/memoriesX", "/memoriesX/canary.txt", "/memories_backup/canary.txt", "/memories-old", "/memories.md",
		"/memories~", "/memories$", "/memories;ls", "/memories|cat", "/memories\x00", "/memories\x00/a.md", "/memories /a.md", "/memories\t/a.md",
		"/memories\n/a.md", "/memories%2fa.md", "/memories%2Fa.md", "/memories\\a.md", "/memories:a", "/memories?x", "/memories#x", "/memories*",
		"/Memories/a.md", "/MEMORIES/a.md", "/memorıes/a.md", "/memorieſ/a.md", "/ｍemories/a.md", "memories/a.md", "./memories/a.md", "../memories/a.md",
		" /memories/a.md", "\t/memories/a.md", "\ufeff/memories/a.md", "//memories/a.md", "/./memories/a.md", "/x/../memories/a.md", "\\memories\\a.md",
		"/etc/passwd", "/proc/self/environ", "/dev/null", "/dev/zero", "/sys/kernel", "/root/.ssh/id_rsa", "~/.ssh/id_rsa", "$HOME/.bashrc", "${HOME}/x", "%USERPROFILE%",
		"C:\\memories\\a.md", "C:/memories/a.md", "\\\\server\\share\\a", "\\\\?\\C:\\a", "\\\\.\\PhysicalDrive0", "file:///memories/a.md", "http://localhost/memories",
		"/memories@host:/a", "memento:/memories/a.md",
		// Empty names, dots.
		"/memories//", "/memories//a.md", "/memories/a.md//", "/memories///", "/memories/dir//b.md", "/memories/.", "/memories/./", "/memories/./a.md", "/memories/dir/.",
		"/memories/dir/./b.md", "/memories/dir/..", "/memories/dir/../a.md", "/memories/dir/b.md/..",
	}
	// Ways up, in every encoding of them.
	ups := []string{
		"..", "../", "%2e%2e", "%2E%2E", "%2e.", ".%2e", "%252e%252e", "%25252e%25252e", "%2e%2e%2f", "..%2f", "..%252f", "..%255c", "..\\", "%2e%2e\\", "%2e%2e%5c", "..%5c",
		"%c0%ae%c0%ae", "..%c0%af", "..%c1%9c", "%e0%80%ae%e0%80%ae", "%f0%80%80%ae%f0%80%80%ae",
		"\xc0\xae\xc0\xae", "..\xc0\xaf", "\xe0\x80\xae\xe0\x80\xae", "\xf0\x80\x80\xae\xf0\x80\x80\xae", "\xc0\x2e\xc0\x2e",
		"..\x00", ".\x00.", "..\n", "..\r", "..\t", "..\x7f", "..\u200b", "\u200b..", ".\u200d.", "\u202e..", "..\u2060", "\u2066..\u2069", ".\u00ad.", "..\ufeff", "..\u0085",
	}
	tails := []string{"", "/canary.txt", "/around/canary.txt", "/../../etc/passwd", "/etc/passwd"}
	for _, up := range ups {
		for _, tail := range tails {
			// "%c0%ae" decodes to nothing that is a dot, but it is percent-encoding all the same.
			paths = append(paths, "/memories/"+strings.TrimSuffix(up, "/")+tail)
		}
	}
	for _, up := range []string{"..", "%2e%2e", "..\\..", "%2e%2e%2f%2e%2e"} {
		for _, n := range []int{1, 2, 8, 64} {
			paths = append(paths, "/memories/dir/"+strings.Repeat(up+"/", n)+"canary.txt")
		}
	}
	// Characters that deceive, terminals' and line separators.
	for _, r := range "\x01\x07\x08\x0b\x0c\x1b\x1f\u0080\u009b\u061c\u070f\u180e\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2060\u2061\u2064\u2066\u2067\u2068\u2069\u206a\u206f\ufeff\ufff9\ufffb\U000e0001\U000e0041\U000e007f\U0001d173" {
		paths = append(paths, "/memories/a"+string(r)+"b.md", "/memories/"+string(r))
	}
	// Not in form NFC: two spellings of one name.
	for _, s := range []string{"e\u0301.md", "A\u030a", "\u212b", "\u1100\u1161", "\u0344", "\u2126", "\ufa10", "q\u0307\u0323", "\u0958"} {
		paths = append(paths, "/memories/"+s, "/memories/dir/"+s+"/x")
	}
	// Not UTF-8.
	for _, s := range []string{"\xff", "\xfe\xff", "\x80", "\xc3", "\xc3\x28", "\xe2\x82", "\xe2\x28\xa1", "\xf0\x9f\x92", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80"} {
		paths = append(paths, "/memories/"+s, "/memories/dir/a"+s+"b.md")
	}
	// Too long, too deep.
	for _, n := range []int{1025, 4096, 70_000} {
		paths = append(paths, "/memories/"+strings.Repeat("a", n), "/memories/"+strings.Repeat("é", n))
	}
	for _, n := range []int{513, 10_000} {
		paths = append(paths, "/memories"+strings.Repeat("/d", n), "/memories"+strings.Repeat("/..", n), "/memories"+strings.Repeat("/.", n))
	}
	return paths
}

// hostileNames look dangerous, but are names like any other, which the store
// keeps apart from each other and from the system's own.
func hostileNames(e *env) {
	unchanged := e.surround()
	tool := memento.NewTool(e.docs(e.b), nil)
	names := []string{
		"CON", "con.md", "NUL", "nul.txt", "AUX", "PRN", "COM1", "LPT1.md", "CLOCK$", "CONIN$", "a:b", "a:$DATA", "x::$INDEX_ALLOCATION",
		"-rf", "--help", "-", "~", "~root", "$HOME", "${IFS}", "$(reboot)", "`reboot`", ";reboot", "|cat", "&", ">out", "<in", "*", "?", "[a]", "{a,b}", "!", "#", "'", "\"", "a b", "trailing ", " leading",
		"...", "....", ".. .", "a..b", "a...", "..a", "memories", "canary.txt", "etc", "100%", "50% off", "%zz", "％2e％2e", "．．", "。。", "‥", "…", "∕", "⁄", "＼", "／",
		"'; DROP TABLE memories; --", "\" OR 1=1", "<script>alert(1)</script>", "{{7*7}}", "${jndi:ldap:x}", "__proto__", "constructor", "toString", "null", "undefined", "true", "0", "-1", "NaN", "1e9999",
		"аdmin.md", "admin.md", "ＡＤＭＩＮ.md", "ı.md", "ß.md", "K.md", "k.md", "books.db", "lock", "a.lock", "a.tmp", "a~", "a.db-wal", "db-journal",
		strings.Repeat("n", 200), strings.Repeat("n", 255), strings.Repeat("n", 256), strings.Repeat("é", 300),
	}
	held := map[memento.Path]string{}
	for _, name := range names {
		path := "/memories/" + name
		hidden := strings.HasPrefix(name, ".")
		r := e.answer(tool, encode(map[string]any{"command": "create", "path": path, "file_text": name}))
		if r.IsError != hidden {
			e.Errorf("create %q: %.200q", path, r.Content)
		}
		if !hidden {
			held[memento.Path("/"+name)] = name
		}
	}
	e.holds(held)
	for _, name := range names {
		r := e.answer(tool, encode(map[string]any{"command": "view", "path": "/memories/" + name}))
		if want := "     1\t" + name; !strings.HasPrefix(name, ".") && !strings.HasSuffix(r.Content, want) {
			e.Errorf("view %q: %.200q", name, r.Content)
		}
	}
	e.reopen()
	e.holds(held)
	unchanged("names")
}

// hostileInput is no command, or almost one.
func hostileInput(e *env) {
	e.fill("/a.md", "/dir/b.md")
	unchanged := e.surround()
	tool := memento.NewTool(e.docs(e.b), nil)
	before := e.everything()
	inputs := []string{
		"", " ", "\x00", "null", "true", "0", "\"view\"", "[]", "[{}]", "{}", "{", "}", "{{}}", "{\"command\"}", "{\"command\":}", "{'command':'view'}", "{command:view}",
		`{"command":"view"`, `{"command":"view","path":"/memories"`, `{"command":"view","path":"/memories"}}`, `{"command":"view","path":"/memories"} {}`, `{"command":"view","path":"/memories"}garbage`,
		`{"command":"view","command":"delete","path":"/memories/a.md"}`, `{"command":"delete","path":"/memories/x","path":"/memories/a.md"}`, `{"comm\u0061nd":"delete","command":"view","path":"/memories/a.md"}`,
		`{"command":null}`, `{"command":1}`, `{"command":["view"]}`, `{"command":{"view":1}}`, `{"command":""}`, `{"command":"VIEW","path":"/memories"}`, `{"command":"view ","path":"/memories"}`, `{"command":"view\u0000","path":"/memories"}`,
		`{"command":"exec","path":"/memories"}`, `{"command":"../view","path":"/memories"}`, `{"command":"__proto__","path":"/memories"}`, `{"COMMAND":"view","path":"/memories"}`, `{"command":"view","PATH":"/memories"}`,
		`{"command":"view"}`, `{"command":"view","path":null}`, `{"command":"view","path":1}`, `{"command":"view","path":["/memories"]}`, `{"command":"view","path":{"a":"/memories"}}`, `{"command":"view","path":"\ud800"}`, `{"command":"view","path":"/memories/\udfff"}`,
		`{"command":"view","path":"/memories/a.md","view_range":[]}`, `{"command":"view","path":"/memories/a.md","view_range":[1]}`, `{"command":"view","path":"/memories/a.md","view_range":[1,2,3]}`, `{"command":"view","path":"/memories/a.md","view_range":["1","2"]}`,
		`{"command":"view","path":"/memories/a.md","view_range":[0,1]}`, `{"command":"view","path":"/memories/a.md","view_range":[-1,-1]}`, `{"command":"view","path":"/memories/a.md","view_range":[9223372036854775807,-1]}`, `{"command":"view","path":"/memories/a.md","view_range":[1e309,2]}`,
		`{"command":"view","path":"/memories/a.md","view_range":[99999999999999999999,2]}`, `{"command":"view","path":"/memories/a.md","view_range":[1.5,2]}`, `{"command":"view","path":"/memories/a.md","view_range":"1,2"}`, `{"command":"view","path":"/memories/a.md","view_range":{"0":1}}`,
		`{"command":"create","path":"/memories/x"}`, `{"command":"create","path":"/memories/x","file_text":null}`, `{"command":"create","path":"/memories/x","file_text":1}`, `{"command":"create","path":"/memories/x","file_text":["a"]}`, `{"command":"create","path":"/memories/x","file_text":"\ud800"}`, "{\"command\":\"create\",\"path\":\"/memories/x\",\"file_text\":\"\xff\"}",
		`{"command":"create","path":"/memories/a.md","file_text":"overwritten"}`, `{"command":"create","path":"/memories/dir","file_text":"x"}`, `{"command":"create","path":"/memories/a.md/x","file_text":"x"}`, `{"command":"create","path":"/memories/dir/","file_text":"x"}`, `{"command":"create","path":"/memories","file_text":"x"}`,
		`{"command":"str_replace","path":"/memories/a.md"}`, `{"command":"str_replace","path":"/memories/a.md","old_str":""}`, `{"command":"str_replace","path":"/memories/a.md","old_str":1,"new_str":"x"}`, `{"command":"str_replace","path":"/memories/a.md","old_str":"nowhere","new_str":"x"}`, `{"command":"str_replace","path":"/memories/dir","old_str":"a","new_str":"x"}`, `{"command":"str_replace","path":"/memories/a.md","old_str":"a","new_str":{}}`,
		`{"command":"insert","path":"/memories/a.md"}`, `{"command":"insert","path":"/memories/a.md","insert_line":-1,"insert_text":"x"}`, `{"command":"insert","path":"/memories/a.md","insert_line":2147483648,"insert_text":"x"}`, `{"command":"insert","path":"/memories/a.md","insert_line":"0","insert_text":"x"}`, `{"command":"insert","path":"/memories/a.md","insert_line":0.5,"insert_text":"x"}`, `{"command":"insert","path":"/memories/dir","insert_line":0,"insert_text":"x"}`,
		`{"command":"delete","path":"/memories"}`, `{"command":"delete","path":"/memories/"}`, `{"command":"delete","path":"/memories/."}`, `{"command":"delete","path":"/memories/*"}`, `{"command":"delete","path":"/memories/a.md/"}`, `{"command":"delete"}`,
		`{"command":"rename","old_path":"/memories","new_path":"/memories/x"}`, `{"command":"rename","old_path":"/memories/a.md","new_path":"/memories"}`, `{"command":"rename","old_path":"/memories/dir","new_path":"/memories/dir/in/itself"}`, `{"command":"rename","old_path":"/memories/a.md","new_path":"/memories/dir/b.md"}`, `{"command":"rename","old_path":"/memories/a.md"}`, `{"command":"rename","new_path":"/memories/x"}`, `{"command":"rename","path":"/memories/a.md","new_path":"/memories/x"}`,
		`{"command":"view","path":"/memories/none","x":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`,
		`{"command":"view","path":"/memories/none","x":` + strings.Repeat(`{"a":`, 9_999) + "1" + strings.Repeat("}", 9_999) + `}`,
		strings.Repeat("[", 1_000_000), strings.Repeat(`{"command":`, 100_000), `{"` + strings.Repeat("k", 1_000_000) + `":1}`, `{"command":"` + strings.Repeat("v", 1_000_000) + `"}`, `{"command":"view","path":"/memories/` + strings.Repeat("p", 1_000_000) + `"}`,
		"\xef\xbb\xbf" + `{"command":"delete","path":"/memories/a.md"}`, "\xff\xfe{\x00}\x00", `{"command":"delete",` + "\x00" + `"path":"/memories/a.md"}`, `/*c*/{"command":"delete","path":"/memories/a.md"}`, `{"command":"delete","path":"/memories/a.md",}`, `{"command":"delete","path":"/memories/a.md"` + "\x1a",
		`{"type":"tool_use","name":"bash","input":{"command":"rm -rf /memories"}}`, `{"type":"tool_use","name":"memory"}`, `{"type":"tool_use","name":"memory","input":"view"}`, `{"type":"tool_use","name":"memory","input":[1]}`, `{"type":"tool_use","name":"Memory","input":{"command":"delete","path":"/memories/a.md"}}`,
	}
	for _, input := range inputs {
		if r := e.answer(tool, []byte(input)); !r.IsError {
			e.Errorf("%.100q was not refused: %.100q", input, r.Content)
		}
		block := tool.RunBlock(e.Context(), []byte(input))
		if block.Type != "tool_result" || !block.IsError {
			e.Errorf("%.100q: the block was not refused: %.100q", input, block.Content)
		}
	}
	e.same("store", before, e.everything())
	unchanged("input")
	e.Logf("%d inputs refused", len(inputs))
}
