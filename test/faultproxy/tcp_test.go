package faultproxy_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"memento/test/faultproxy"
	"memento/test/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m, nil) }

// An echo is a server that answers each line with the same in capitals, and
// remembers it.
type echo struct {
	net.Listener
	mu    sync.Mutex
	lines []string
}

func newEcho(t *testing.T) *echo {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &echo{Listener: l}
	var active sync.WaitGroup
	active.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			active.Go(func() {
				defer c.Close()
				in := bufio.NewReader(c)
				for {
					line, err := in.ReadString('\n')
					if err != nil {
						return
					}
					e.mu.Lock()
					e.lines = append(e.lines, strings.TrimSuffix(line, "\n"))
					e.mu.Unlock()
					if _, err := io.WriteString(c, strings.ToUpper(line)); err != nil {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		active.Wait()
	})
	return e
}

func (e *echo) heard() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.lines, " ")
}

// proxied returns a proxy for an echo.
func proxied(t *testing.T) (*echo, *faultproxy.TCP) {
	t.Helper()
	e := newEcho(t)
	p, err := faultproxy.ListenTCP(e.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return e, p
}

// A client is a connection, and what reads it.
type client struct {
	net.Conn
	in *bufio.Reader
}

func connect(t *testing.T, p *faultproxy.TCP) *client {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(2 * time.Minute)) // so that a test fails, and does not hang
	return &client{c, bufio.NewReader(c)}
}

// ask sends a line and returns the answer.
func (c *client) ask(line string) (string, error) {
	if _, err := io.WriteString(c, line+"\n"); err != nil {
		return "", err
	}
	answer, err := c.in.ReadString('\n')
	return strings.TrimSuffix(answer, "\n"), err
}

func (c *client) must(t *testing.T, line string) {
	t.Helper()
	if got, err := c.ask(line); err != nil || got != strings.ToUpper(line) {
		t.Errorf("%q was answered %q, %v", line, got, err)
	}
}

// lost checks that a line has no answer, because the connection ends.
func (c *client) lost(t *testing.T, line, want string) {
	t.Helper()
	got, err := c.ask(line)
	if err == nil || got != want || isTimeout(err) {
		t.Errorf("%q was answered %q, %v; want only %q", line, got, err, want)
	}
}

// unserved checks that a new connection comes to nothing. The system may have accepted
// it before it is reset.
func unserved(t *testing.T, p *faultproxy.TCP) {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		return
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
	if _, err := (&client{c, bufio.NewReader(c)}).ask("unserved"); err == nil || isTimeout(err) {
		t.Errorf("a new connection: %v", err)
	}
}

func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

func TestPass(t *testing.T) {
	e, p := proxied(t)
	c := connect(t, p)
	c.must(t, "one")
	large := strings.Repeat("x", 1<<20)
	c.must(t, large)
	if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.in.ReadByte(); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}
	if e.heard() != "one "+large || p.Did() != 0 {
		t.Errorf("the server heard %d bytes; %d faults", len(e.heard()), p.Did())
	}
}

func TestRefuse(t *testing.T) {
	e, p := proxied(t)
	open := connect(t, p)
	open.must(t, "before")
	p.Set(faultproxy.Fault{Refuse: true})
	unserved(t, p)
	open.must(t, "open")
	p.Set(faultproxy.Fault{})
	connect(t, p).must(t, "after")
	if e.heard() != "before open after" || p.Did() != 1 {
		t.Errorf("the server heard %q; %d faults", e.heard(), p.Did())
	}
}

func TestSilent(t *testing.T) {
	e, p := proxied(t)
	c := connect(t, p)
	c.must(t, "before")
	p.Set(faultproxy.Fault{Silent: true})
	if _, err := io.WriteString(c, "held\n"); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if b, err := c.in.ReadByte(); !isTimeout(err) {
		t.Errorf("read %q, %v", b, err)
	}
	if e.heard() != "before" {
		t.Errorf("the server heard %q", e.heard())
	}
	p.Set(faultproxy.Fault{})
	_ = c.SetReadDeadline(time.Now().Add(2 * time.Minute))
	if got, err := c.in.ReadString('\n'); err != nil || got != "HELD\n" {
		t.Errorf("what was held back was answered %q, %v", got, err)
	}
	if p.Did() != 1 {
		t.Errorf("%d faults", p.Did())
	}
}

func TestDelay(t *testing.T) {
	_, p := proxied(t)
	c := connect(t, p)
	p.Set(faultproxy.Fault{Delay: 30 * time.Millisecond})
	start := time.Now()
	c.must(t, "slow")
	if took := time.Since(start); took < 60*time.Millisecond {
		t.Errorf("there and back in %v", took)
	}
	if p.Did() != 2 {
		t.Errorf("%d faults", p.Did())
	}
}

func TestCut(t *testing.T) {
	_, p := proxied(t)
	first, second := connect(t, p), connect(t, p)
	first.must(t, "one")
	second.must(t, "two")
	if n := p.Cut(); n != 2 || p.Did() != 2 {
		t.Errorf("cut %d connections; %d faults", n, p.Did())
	}
	first.lost(t, "gone", "")
	second.lost(t, "gone", "")
	connect(t, p).must(t, "new")
}

func TestCutAfter(t *testing.T) {
	e, p := proxied(t)
	c, other := connect(t, p), connect(t, p)
	other.must(t, "uncounted")
	p.Set(faultproxy.Fault{CutAfter: 6})
	c.must(t, "abc") // with its newline, 4 bytes
	c.lost(t, "defg", "DE")
	if e.heard() != "uncounted abc defg" || p.Did() != 1 {
		t.Errorf("the server heard %q; %d faults", e.heard(), p.Did())
	}
	other.lost(t, "none are left", "")
}

func TestMatch(t *testing.T) {
	for _, carried := range []bool{false, true} {
		e, p := proxied(t)
		c := connect(t, p)
		p.Set(faultproxy.Fault{Match: []string{"rollback", "commit"}, Carried: carried})
		c.must(t, "begin")
		if _, err := io.WriteString(c, "com"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond) // so that it comes in two pieces
		c.lost(t, "mit", "")
		connect(t, p).must(t, "another")
		want := map[bool]string{false: "begin another", true: "begin commit another"}[carried]
		if got := e.heard(); got != want || p.Did() != 1 {
			t.Errorf("carried %v: the server heard %q; %d faults", carried, got, p.Did())
		}
	}
}

// A proxy without a server behind it ends connections, and one that is closed too.
func TestNobody(t *testing.T) {
	e, p := proxied(t)
	c := connect(t, p)
	c.must(t, "one")
	e.Close()
	unserved(t, p)
	p.Set(faultproxy.Fault{Silent: true})
	if _, err := io.WriteString(c, "held\n"); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.in.ReadByte(); err == nil || isTimeout(err) {
		t.Errorf("after Close: %v", err)
	}
}
