package pgstore_test

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"memento"
	"memento/backend/pgstore"
	"memento/test/services"

	"github.com/jackc/pgx/v5"
)

// serverURL is the test server's, with more parameters.
func serverURL(t *testing.T, parameters string) string {
	t.Helper()
	at, err := url.Parse(os.Getenv(services.PostgresVariable))
	if err != nil {
		t.Fatal(err)
	}
	if parameters != "" {
		at.RawQuery = strings.TrimPrefix(at.RawQuery+"&"+parameters, "&")
	}
	return at.String()
}

// admin runs statements as the server's administrator.
func admin(t *testing.T, statements ...string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), serverURL(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	for _, s := range statements {
		if _, err := c.PgConn().Exec(t.Context(), s).ReadAll(); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// rowsOf counts the rows of a table.
func rowsOf(t *testing.T, schema, table string) (n int) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), serverURL(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if err := c.QueryRow(t.Context(), `SELECT count(*) FROM `+schema+`.`+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Servers that start together make one schema.
func TestOpenTogether(t *testing.T) {
	schema := schemaOf(t.TempDir())
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			b, err := pgstore.Open(t.Context(), serverURL(t, ""), &pgstore.Options{Schema: schema, MaxConns: 2})
			if err != nil {
				t.Error(err)
				return
			}
			defer b.Close()
			if _, err := b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "test"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	b := open(t, serverURL(t, ""), &pgstore.Options{Schema: schema})
	n := 0
	for _, err := range b.ListStores(t.Context(), memento.DefaultWorkspace, memento.StoreListOptions{}) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != 10 {
		t.Errorf("%d stores of ten servers", n)
	}
}

// What is not ours, or newer, is left alone.
func TestOpenRefuses(t *testing.T) {
	foreign, newer := schemaOf(t.TempDir()), schemaOf(t.TempDir())
	admin(t, `CREATE SCHEMA `+foreign, `CREATE TABLE `+foreign+`.theirs (id int)`)
	_, err := pgstore.Open(t.Context(), serverURL(t, ""), &pgstore.Options{Schema: foreign})
	if !errors.Is(err, memento.ErrFormat) {
		t.Errorf("another program's schema: %v", err)
	}
	open(t, serverURL(t, ""), &pgstore.Options{Schema: newer})
	admin(t, `INSERT INTO `+newer+`.schema_version (memento_version) VALUES (99)`)
	_, err = pgstore.Open(t.Context(), serverURL(t, ""), &pgstore.Options{Schema: newer})
	if !errors.Is(err, memento.ErrFormat) || !strings.Contains(err.Error(), "newer memento") {
		t.Errorf("a newer schema: %v", err)
	}
	for name, opts := range map[string]pgstore.Options{
		"a system's schema": {Schema: "pg_memento"},
		"a long name":       {Schema: strings.Repeat("x", 64)},
		"connections":       {MaxConns: -1},
		"a timeout":         {StatementTimeout: -1},
	} {
		if _, err := pgstore.Open(t.Context(), serverURL(t, ""), &opts); !errors.Is(err, memento.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A schema's name is a name, whatever it holds.
func TestSchemaNames(t *testing.T) {
	for _, name := range []string{"public" + schemaOf(t.TempDir()), `we"ird. ; ` + schemaOf(t.TempDir()), "Größe memento." + schemaOf(t.TempDir())} {
		b := open(t, serverURL(t, ""), &pgstore.Options{Schema: name})
		store := newStore(t, b)
		if err := setIn(t.Context(), b, store, "/a", "text"); err != nil {
			t.Errorf("schema %q: %v", name, err)
		}
		if found, err := b.Search(t.Context(), store, memento.SearchOptions{Query: "text"}); err != nil || len(found) != 1 {
			t.Errorf("schema %q: found %v, %v", name, found, err)
		}
	}
}

// A role with read-only access can read, and gets memento.ErrReadOnly for writes.
func TestReadOnlyRole(t *testing.T) {
	schema := schemaOf(t.TempDir())
	role := "reader_" + schema
	b := open(t, serverURL(t, ""), &pgstore.Options{Schema: schema})
	store := newStore(t, b)
	if err := setIn(t.Context(), b, store, "/a", "text"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Search(t.Context(), store, memento.SearchOptions{Query: "text"}); err != nil {
		t.Fatal(err)
	}
	admin(t, `CREATE ROLE `+role+` LOGIN PASSWORD 'reader'`,
		`GRANT USAGE ON SCHEMA `+schema+` TO `+role, `GRANT SELECT ON ALL TABLES IN SCHEMA `+schema+` TO `+role)
	defer admin(t, `DROP OWNED BY `+role, `DROP ROLE `+role)
	at, err := url.Parse(serverURL(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	at.User = url.UserPassword(role, "reader")
	reader := open(t, at.String(), &pgstore.Options{Schema: schema})
	defer reader.Close()
	if m, err := reader.Get(t.Context(), store, memento.ByPath("/a")); err != nil || m.Content != "text" {
		t.Errorf("Get: %q, %v", m.Content, err)
	}
	if found, err := reader.Search(t.Context(), store, memento.SearchOptions{Query: "text"}); err != nil || len(found) != 1 {
		t.Errorf("Search: %v, %v", found, err)
	}
	refuses(t, reader, store)
	_, err = pgstore.Open(t.Context(), at.String(), &pgstore.Options{Schema: schemaOf(t.TempDir())})
	if !errors.Is(err, memento.ErrReadOnly) {
		t.Errorf("a schema that it would have to make: %v", err)
	}

	// The same of a server that takes no writes, such as a standby.
	refuses(t, open(t, serverURL(t, "default_transaction_read_only=on"), &pgstore.Options{Schema: schema}), store)
}

func refuses(t *testing.T, b *pgstore.Backend, store memento.StoreID) {
	t.Helper()
	_, create := b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "late"})
	for name, err := range map[string]error{
		"Apply":       setIn(t.Context(), b, store, "/b", "text"),
		"CreateStore": create,
		"DeleteStore": b.DeleteStore(t.Context(), memento.DefaultWorkspace, store),
	} {
		if !errors.Is(err, memento.ErrReadOnly) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Poolers need statements that are not prepared.
func TestWithoutPreparing(t *testing.T) {
	for _, mode := range []string{"exec", "simple_protocol", "cache_describe"} {
		t.Run(mode, func(t *testing.T) {
			b := open(t, serverURL(t, "default_query_exec_mode="+mode), nil)
			store := newStore(t, b)
			exercise(t, b, store)
		})
	}
}

// exercise uses every kind of statement.
func exercise(t *testing.T, b *pgstore.Backend, store memento.StoreID) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	apply := func(changes ...memento.Change) memento.Applied {
		t.Helper()
		done, err := b.Apply(ctx, store, memento.Actor{Kind: memento.ActorUser, ID: "a'b\\c\x00"}, changes)
		must(err)
		return done
	}
	text := "it's \\ a \x00 text;\n$1 {} \"quoted\" ü"
	first := apply(memento.Put{Path: "/dir/it's $1", Content: text})
	apply(memento.Put{Path: "/dir/it's $1", Content: text + "more"}, memento.Put{Path: "/dir/b", Content: ""}, memento.Put{Path: "/c", Content: "c"})
	apply(memento.Put{Path: "/c", Content: "c again"})
	apply(memento.Move{From: "/dir", To: "/moved"})
	apply(memento.Move{From: "/c", To: "/x"}, memento.Move{From: "/moved/b", To: "/c"}, memento.Move{From: "/x", To: "/moved/b"})
	apply(memento.Remove{Path: "/c"})
	m, err := b.Get(ctx, store, memento.ByPath("/moved/it's $1"))
	must(err)
	if m.Content != text+"more" {
		t.Errorf("got %q", m.Content)
	}
	if b, err := b.Get(ctx, store, memento.ByPath("/moved/b")); err != nil || b.Content != "c again" {
		t.Errorf("got %q, %v", b.Content, err)
	}
	v, err := b.GetVersion(ctx, store, first.Versions[0].ID)
	must(err)
	if v.Content != text || v.CreatedBy.ID != "a'b\\c\x00" {
		t.Errorf("got %+v", v)
	}
	for _, opts := range []memento.ListOptions{{}, {Depth: 1}, {Contents: true, Limit: 1}, {Dir: "/moved", Brief: true}} {
		n := 0
		for _, err := range b.List(ctx, store, opts) {
			must(err)
			n++
		}
		if n == 0 {
			t.Errorf("%+v lists nothing", opts)
		}
	}
	found, err := b.Search(ctx, store, memento.SearchOptions{Query: `"it s" +quoted`})
	must(err)
	if len(found) != 1 {
		t.Errorf("found %v", found)
	}
	var history []memento.Version
	for v, err := range b.ListVersions(ctx, store, memento.VersionListOptions{Contents: true, OldestFirst: true, Memory: m.ID, CreatedBy: memento.Actor{Kind: memento.ActorUser}}) {
		must(err)
		history = append(history, v)
	}
	if len(history) != 3 {
		t.Errorf("%d versions", len(history))
	}
	copied := newStore(t, b)
	must(b.Import(ctx, copied, history))
	if m2, err := b.Get(ctx, copied, memento.ByPath(m.Path)); err != nil || m2.Content != m.Content {
		t.Errorf("the copy: %+v, %v", m2, err)
	}
	_, err = b.Redact(ctx, store, v.ID, memento.Actor{Kind: memento.ActorUser, ID: "r"})
	must(err)
	b.MarkRead(store, m.ID)
	must(b.SyncReads(ctx))
	pruned, err := b.Prune(ctx, store, memento.PruneOptions{Before: m.UpdatedAt.AddDate(1, 0, 0)})
	must(err)
	if pruned.Versions == 0 {
		t.Error("nothing was pruned")
	}
	if ok, err := b.AcquireLease(ctx, "duty", 1e9); err != nil || !ok {
		t.Errorf("AcquireLease: %v, %v", ok, err)
	}
	_, err = b.UpdateStore(ctx, memento.DefaultWorkspace, store, memento.StoreUpdate{Description: new("a'\x00b"), Envelope: new("\xff\x00")})
	must(err)
	if info, err := b.GetStore(ctx, memento.DefaultWorkspace, store); err != nil || info.Envelope != "\xff\x00" || info.Description != "a'\x00b" {
		t.Errorf("%+v, %v", info, err)
	}
	must(b.DeleteStore(ctx, memento.DefaultWorkspace, copied))
}

// What changes many memories takes few statements, and what changes one takes two round trips.
func TestStatements(t *testing.T) {
	w := newWire(t)
	b := open(t, w.url, nil)
	b.StopIndexing() // its statements would count, too
	store := newStore(t, b)
	const many = 10_000
	_, err := b.UpdateStore(t.Context(), memento.DefaultWorkspace, store, memento.StoreUpdate{Limits: &memento.Limits{Memories: 2 * many}})
	if err != nil {
		t.Fatal(err)
	}
	var puts []memento.Change
	for i := range many {
		puts = append(puts, memento.Put{Path: memento.Path(fmt.Sprintf("/dir/%d/%d", i%100, i)), Content: "text"})
	}
	// Once before, so that preparing does not count.
	if err := setIn(t.Context(), b, store, "/one", "before"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		changes           []memento.Change
		statements, trips int64
	}{
		"1 edit": {[]memento.Change{memento.Put{Path: "/one", Content: "after"}}, 6, 4},
	} {
		count(t, w, b, store, name, c.changes, c.statements, c.trips)
	}
	count(t, w, b, store, "2 edit again", []memento.Change{memento.Put{Path: "/one", Content: "again"}}, 6, 2)
	count(t, w, b, store, "3 create many", puts, 12, 8)
	count(t, w, b, store, "4 move many", []memento.Change{memento.Move{From: "/dir", To: "/moved"}}, 12, 8)
	count(t, w, b, store, "5 remove many", []memento.Change{memento.Remove{Path: "/moved"}}, 12, 8)
}

func count(t *testing.T, w *wire, b *pgstore.Backend, store memento.StoreID, name string, changes []memento.Change, statements, trips int64) {
	t.Helper()
	s, r := w.statements.Load(), w.trips.Load()
	if _, err := b.Apply(t.Context(), store, memento.Actor{}, changes); err != nil {
		t.Fatal(err)
	}
	s, r = w.statements.Load()-s, w.trips.Load()-r
	t.Logf("%s: %d statements in %d round trips", name, s, r)
	if s > statements || r > trips {
		t.Errorf("%s: %d statements in %d round trips; at most %d in %d", name, s, r, statements, trips)
	}
}
