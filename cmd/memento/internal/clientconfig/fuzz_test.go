package clientconfig

import (
	"bytes"
	"reflect"
	"testing"
)

// What is not of memento's entry keeps its bytes, and its meaning.
func FuzzEdit(f *testing.F) {
	for _, text := range []string{
		"", "{}", "{\n}", "\ufeff{\r}", "{\t}", "{ // c\n}", "{\"a\":1 // c\n}", `{"mcpServers":{"x":{},},}`, "{\"mcpServers\": {\n  \"x\": 1 /* y */, // z\n}}",
		"\ufeff{\r\n\t\"mcpServers\": {\r\n}\r\n}", `{"mcpServers":{"m":{"command":"a","args":["mcp"],"env":{"P":"1","b":2}}}}`,
		"a = 1", "[mcp_servers.x]\r\nb = '''\n[mcp_servers.m]\n'''", "[mcp_servers.m]\nargs=['mcp']#c\ncommand='c'\nenv.P='1'", "[mcp_servers.m.env]\nP='1'\n[mcp_servers.\"m\"]\nargs=['mcp']\ncommand='c'",
		"[mcp_servers]\nm.args=['mcp']\nm.command='c'\n", "\"mcp_servers\".x = {}\n", "[[a]]\n[[a.b]]\nc = [[{d=1}]]\n",
	} {
		f.Add([]byte(text), true, "v")
		f.Add([]byte(text), false, "")
	}
	f.Fuzz(func(t *testing.T, text []byte, asJSON bool, value string) {
		c := toml1
		if asJSON {
			c = json1
		}
		kept := bytes.Clone(text)
		s := Server{Command: "/bin/" + value, Args: []string{"mcp", value}, Env: map[string]string{"P": value}}
		had := false
		if before, err := c.decode(bytes.TrimPrefix(text, mark)); err == nil {
			_, had, _ = c.entry(before, "m")
		}
		set, err := c.Set(text, "m", s)
		if !bytes.Equal(text, kept) {
			t.Fatal("the text itself was changed")
		}
		if err != nil {
			return
		}
		if !had && !remains(text, set) {
			t.Fatalf("bytes are lost:\n%q\n%q", text, set)
		}
		again, err := c.Set(set, "m", s)
		if err != nil || !bytes.Equal(again, set) {
			t.Fatalf("the second time: %v\n%q\n%q", err, set, again)
		}
		removed, ok, err := c.Remove(set, "m")
		if err != nil || !ok {
			t.Fatalf("not removed: %v, %v\n%q", ok, err, set)
		}
		if !had && !remains(bytes.TrimSpace(text), append(removed, "{}"...)) {
			t.Fatalf("bytes are lost at the end:\n%q\n%q\n%q", text, set, removed)
		}
		before, err := c.decode(bytes.TrimPrefix(text, mark))
		after, errToo := c.decode(bytes.TrimPrefix(removed, mark))
		if err != nil || errToo != nil || !reflect.DeepEqual(c.without(before, "m"), c.without(after, "m")) {
			t.Fatalf("%v, %v:\n%q\n%q", err, errToo, text, removed)
		}
	})
}

// remains reports whether a text has all bytes of another, in order.
func remains(part, text []byte) bool {
	for _, b := range part {
		i := bytes.IndexByte(text, b)
		if i < 0 {
			return false
		}
		text = text[i+1:]
	}
	return true
}
