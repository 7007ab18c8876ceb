package sqlitestore

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"memento"
	"memento/backend"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// A conn is one connection, used by one goroutine at a time. Its statements are prepared
// once, and reset by the caller.
type conn struct {
	*sqlite.Conn
	prepared map[string]*sqlite.Stmt

	settings     memento.Settings // the settings that were decoded last
	settingsText string

	cache int // KiB, of a connection in a pool
}

// openWriter opens the connection that writes to a file. The file must be memento's or
// empty: another program's file is left unchanged.
func openWriter(path string, busy time.Duration) (*conn, error) {
	sc, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		return nil, err
	}
	sc.SetBusyTimeout(busy)
	c := newConn(sc)
	if err := checkFormat(c); err != nil {
		sc.Close()
		return nil, err
	}
	var pages int64
	if _, err := c.one(`PRAGMA page_count`, func(s *sqlite.Stmt) { pages = s.ColumnInt64(0) }); err != nil {
		sc.Close()
		return nil, err
	}
	if pages == 0 {
		// Space of pruned data is returned to the file system. In a file with tables, this
		// pragma would write, though the disk may be full.
		if err := sqlitex.ExecuteTransient(sc, "PRAGMA auto_vacuum = INCREMENTAL", nil); err != nil {
			sc.Close()
			return nil, err
		}
	}
	if err := makeDurable(sc); err != nil {
		sc.Close()
		return nil, err
	}
	for _, pragma := range []string{
		// Redacted contents must not remain in free pages.
		"PRAGMA secure_delete = ON",
		"PRAGMA temp_store = MEMORY",
		"PRAGMA cache_size = -6144", // KiB, allocated when needed; a page takes twice its size in memory
		// See checkpoint.go.
		"PRAGMA wal_autocheckpoint = 0",
		"PRAGMA journal_size_limit = 67108864",
	} {
		if err := sqlitex.ExecuteTransient(sc, pragma, nil); err != nil {
			sc.Close()
			return nil, err
		}
	}
	return c, nil
}

// openReader opens a connection for reading a file that is already open, with a cache of so
// many KiB.
//
// Errors: errMoved.
func openReader(file *fileIdentity, busy time.Duration, cache int) (*conn, error) {
	sc, err := sqlite.OpenConn(file.path, sqlite.OpenReadWrite)
	if moved := file.check(); moved != nil { // SQLite opens the file that is there now
		err = moved
	}
	if err != nil && sc != nil {
		sc.Close()
	}
	if err != nil {
		return nil, err
	}
	sc.SetBusyTimeout(busy)
	if err := prepareReader(sc, cache); err != nil {
		sc.Close()
		return nil, err
	}
	return newConn(sc), nil
}

func newConn(c *sqlite.Conn) *conn { return &conn{Conn: c, prepared: map[string]*sqlite.Stmt{}} }

// decode is backend.DecodeSettings with a cache of the last result: otherwise decoding
// would take as long as the statements of a write.
func (c *conn) decode(text string) (memento.Settings, error) {
	if text != c.settingsText {
		s, err := backend.DecodeSettings(text)
		if err != nil {
			return s, err
		}
		c.settings, c.settingsText = s, text
	}
	return c.settings, nil
}

// prepare returns a statement with all its parameters bound. The caller resets it.
func (c *conn) prepare(query string, args ...any) (*sqlite.Stmt, error) {
	s := c.prepared[query]
	if s == nil {
		var err error
		if s, err = c.Prepare(query); err != nil {
			return nil, err
		}
		c.prepared[query] = s
	}
	for i, arg := range args {
		switch v := arg.(type) {
		case nil:
			s.BindNull(i + 1)
		case string:
			s.BindText(i+1, v)
		case int64:
			s.BindInt64(i+1, v)
		case int:
			s.BindInt64(i+1, int64(v))
		case []byte:
			s.BindBytes(i+1, v)
		case memento.Path:
			s.BindText(i+1, string(v))
		case memento.MemoryID:
			s.BindText(i+1, string(v))
		case memento.VersionID:
			s.BindText(i+1, string(v))
		default:
			panic(fmt.Sprintf("sqlitestore: cannot bind a %T", arg))
		}
	}
	return s, nil
}

// exec runs a statement that returns no rows.
func (c *conn) exec(query string, args ...any) error {
	_, err := c.one(query, nil, args...)
	return err
}

// one passes the first row to scan, which may be nil, and reports whether there is a row.
func (c *conn) one(query string, scan func(*sqlite.Stmt), args ...any) (found bool, err error) {
	s, err := c.prepare(query, args...)
	if err != nil {
		return false, err
	}
	found, err = s.Step()
	if found && scan != nil {
		scan(s)
	}
	if resetErr := s.Reset(); err == nil {
		err = resetErr
	}
	return found, err
}

// all passes each row to scan until scan returns false.
func (c *conn) all(query string, scan func(*sqlite.Stmt) bool, args ...any) error {
	s, err := c.prepare(query, args...)
	if err != nil {
		return err
	}
	defer s.Reset() // its error, if any, is Step's again
	for {
		row, err := s.Step()
		if err != nil || !row || !scan(s) {
			return err
		}
	}
}

// inTx runs do in a read transaction, so that its statements see the same state.
func (c *conn) inTx(do func() error) error {
	if err := c.exec("BEGIN"); err != nil {
		return err
	}
	err := do()
	if endErr := c.exec("COMMIT"); err == nil {
		err = endErr
	}
	if !c.AutocommitEnabled() {
		_ = c.exec("ROLLBACK") // nothing was written
	}
	return err
}

// A pool has the connections for reading. Each connection keeps its statements and some
// pages, so few are better than many: short reads wait for each other when there are as
// many as short has room for. An iteration, during which the caller may do other reads,
// never waits.
type pool struct {
	open  func(cache int) (*conn, error) // changed by replace
	short chan struct{}                  // a token for each short read in progress

	mu     sync.Mutex
	used   int     // connections in use
	idle   []*conn // the last one was used last, and is used next: its cache is the most recent
	closed bool
}

// Cache sizes of connections, in KiB, allocated when needed; a page takes twice its size in
// memory. Surplus connections are for iterations: there can be any number of them, and they
// read each page once. One that is kept for the next caller gets the cache of a reader then.
const (
	readerCache  = 6144
	surplusCache = 512
)

func newPool(open func(cache int) (*conn, error)) *pool {
	maxShort := 2 * runtime.GOMAXPROCS(0)
	return &pool{open: open, short: make(chan struct{}, maxShort)}
}

// pauseTimeout is how long pause waits for short reads in progress.
const pauseTimeout = 5 * time.Millisecond

// pause waits, up to pauseTimeout, until there are no short reads, and prevents new ones
// until resume is called.
func (p *pool) pause() (resume func()) {
	held := 0
	enough := time.After(pauseTimeout)
wait:
	for held < cap(p.short) {
		select {
		case p.short <- struct{}{}:
			held++
		case <-enough:
			break wait
		}
	}
	return func() {
		for range held {
			<-p.short
		}
	}
}

// get returns an idle connection, or a new one. The caller puts it back.
func (p *pool) get() (*conn, error) {
	c, cache, err := p.takeIdle()
	switch {
	case err != nil:
		return nil, err
	case c == nil:
		c, err = p.openConn(cache)
	case c.cache != readerCache:
		c.cache = readerCache
		err = sqlitex.ExecuteTransient(c.Conn, cachePragma(readerCache), nil)
	}
	if err != nil {
		if c != nil {
			c.Close()
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.used--
		return nil, err
	}
	return c, nil
}

func (p *pool) openConn(cache int) (*conn, error) {
	c, err := p.open(cache)
	if err != nil {
		return nil, err
	}
	c.cache = cache
	return c, nil
}

// renew opens a connection in place of c, which is in use, and closes c. After an error, c
// is unchanged.
func (p *pool) renew(c *conn) (*conn, error) {
	fresh, err := p.openConn(c.cache)
	if err == nil {
		c.Close()
	}
	return fresh, err
}

// takeIdle returns an idle connection. If there is none, c is nil, and a connection with a
// cache of so many KiB may be opened.
func (p *pool) takeIdle() (c *conn, cache int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, 0, memento.ErrClosed
	}
	cache = readerCache
	if p.used >= cap(p.short) {
		cache = surplusCache
	}
	p.used++
	last := len(p.idle) - 1
	if last < 0 {
		return nil, cache, nil
	}
	c = p.idle[last]
	p.idle[last] = nil
	p.idle = p.idle[:last]
	return c, 0, nil
}

// replace closes the connections and has renew return how to open new ones. It does nothing
// if a connection is in use. No connection is opened meanwhile.
func (p *pool) replace(renew func() (open func(cache int) (*conn, error))) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.used > 0 {
		return
	}
	for _, c := range p.idle {
		c.Close()
	}
	p.idle = nil
	p.open = renew()
}

func (p *pool) put(c *conn) {
	if !p.keep(c) {
		c.Close()
	}
}

func (p *pool) keep(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used--
	if p.closed || len(p.idle) == cap(p.short) {
		return false
	}
	p.idle = append(p.idle, c)
	return true
}

// close closes idle connections. The others are closed when they are put back.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.idle {
		c.Close()
	}
	p.idle = nil
}
