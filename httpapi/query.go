package httpapi

import (
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"memento"
)

// A query reads the parameters of a URL, and keeps the first error. Unknown parameters
// are ignored, as in the hosted service.
type query struct {
	values url.Values
	err    error
}

func (c *call) query() *query {
	q := &query{}
	var err error
	if q.values, err = url.ParseQuery(c.r.URL.RawQuery); err != nil {
		q.fail("the query is not of the form key=value")
	}
	return q
}

func (q *query) fail(format string, args ...any) {
	if q.err == nil {
		q.err = invalid(format, args...)
	}
}

// text returns a parameter. An empty one counts as absent.
func (q *query) text(name string) string {
	switch values := q.values[name]; {
	case len(values) > 1:
		q.fail("%s: must not be repeated", name)
	case len(values) == 1 && !utf8.ValidString(values[0]):
		q.fail("%s: is not valid UTF-8", name)
	case len(values) == 1:
		return values[0]
	}
	return ""
}

func (q *query) boolean(name string) bool {
	switch v := q.text(name); v {
	case "", "false":
		return false
	case "true":
		return true
	}
	q.fail("%s: must be true or false", name)
	return false
}

// integer returns a whole number between two bounds.
func (q *query) integer(name string, standard, least, most int64) int64 {
	v := q.text(name)
	if v == "" {
		return standard
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < least || n > most {
		q.fail("%s: must be a whole number from %d to %d", name, least, most)
		return standard
	}
	return n
}

// time returns a time in the format of RFC 3339; zero if the parameter is absent.
func (q *query) time(name string) time.Time {
	v := q.text(name)
	if v == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, v)
	if err != nil {
		// An unescaped plus is decoded as a space.
		if at, err = time.Parse(time.RFC3339Nano, strings.Replace(v, " ", "+", 1)); err != nil {
			q.fail("%s: must be a time such as 2026-09-26T12:00:00Z", name)
			return time.Time{}
		}
	}
	return at.UTC()
}

// full reports whether the request asks for contents.
func (q *query) full(standard bool) bool {
	switch q.text("view") {
	case "":
		return standard
	case "basic":
		return false
	case "full":
		return true
	}
	q.fail(`view: must be "basic" or "full"`)
	return false
}

const (
	standardLimit = 20
	maxLimit      = 100
	maxFullLimit  = 20
)

// limit returns the maximum number of items of a page.
func (q *query) limit(full bool) int {
	n := int(q.integer("limit", standardLimit, 1, maxLimit))
	if full {
		n = min(n, maxFullLimit)
	}
	return n
}

// dir returns the directory that the parameter path_prefix names.
func (q *query) dir() memento.Path {
	prefix := q.text("path_prefix")
	switch {
	case prefix == "" || prefix == "/":
		return memento.Root
	case !strings.HasSuffix(prefix, "/"):
		q.fail("path_prefix: must end in a slash")
		return memento.Root
	}
	p, err := memento.ParsePath(strings.TrimSuffix(prefix, "/"))
	if err != nil {
		q.fail("path_prefix: %s", strings.TrimPrefix(clientMessage(err), "path: "))
		return memento.Root
	}
	return p
}

// Cursors are opaque to clients. A cursor holds the last item of a page: the next page
// begins after it, whatever changes meanwhile.

const pagePrefix = "page_"

// pageAfter returns the cursor after an item; kind keeps the cursors of one listing from
// being used in another.
func pageAfter(kind byte, item string) *string {
	page := pagePrefix + base64.RawURLEncoding.EncodeToString(append([]byte{kind}, item...))
	return &page
}

// after returns the item after which the requested page begins; "" for the first page.
func (q *query) after(kind byte) string {
	page := q.text("page")
	if page == "" {
		return ""
	}
	text, ok := strings.CutPrefix(page, pagePrefix)
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if !ok || err != nil || len(raw) < 2 || raw[0] != kind || !utf8.Valid(raw) || len(raw) > 2*memento.MaxPathBytes {
		q.fail(badPage)
		return ""
	}
	return string(raw[1:])
}

const badPage = "page: is not a cursor of this listing"

// afterPath returns the position in a listing of memories after which the page begins.
func (q *query) afterPath() string {
	after := q.after('m')
	if _, err := memento.ParseDir(after); after != "" && err != nil {
		q.fail(badPage)
	}
	return after
}

// afterStore is afterPath for stores.
func (q *query) afterStore() memento.StoreID {
	after := q.after('s')
	if after != "" && !isID(after, "memstore_") {
		q.fail(badPage)
	}
	return memento.StoreID(after)
}

// A page is one part of a listing.
type page[T any] struct {
	Data []T     `json:"data"`
	Next *string `json:"next_page"`
}

const (
	maxPageBytes = 2 << 20 // of contents
	pageCost     = 3       // bytes of memory for each of them
)

// A pageSize limits the bytes of contents of a page.
type pageSize struct {
	c            *call
	used, counts int64
}

// add reports whether a page with some items has room for another, whose contents have
// the given number of bytes. A page has at least one item, however large it is. If no
// memory is left for more items, the page ends early.
func (p *pageSize) add(items, contents int) (fits bool, err error) {
	if p.used += int64(contents); items > 0 && p.used > maxPageBytes {
		return false, nil
	}
	const step = 64 << 10
	want := pageCost * p.used
	if want <= p.counts+step { // a small page is not counted
		return true, nil
	}
	more := want - p.counts
	p.counts += more
	if items > 0 {
		return p.c.reserveNow(more), nil
	}
	return true, p.c.reserve(more)
}

// scan takes a slot of the limiter scans for a listing with contents.
func (c *call) scan(contents bool) (*permit, error) {
	if !contents {
		return nil, nil
	}
	return c.acquire(c.api.scans, 1)
}
