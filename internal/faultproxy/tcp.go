package faultproxy

import (
	"bytes"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Fault is what is done to TCP connections. The zero Fault is none.
type Fault struct {
	// Refuse resets new connections at once. Open ones go on.
	Refuse bool

	// Silent holds back all bytes, in both directions, and closes nothing. They are
	// passed on, late, when another Fault takes this one's place.
	Silent bool

	// Delay is how long each piece waits before it is passed on, in each direction.
	Delay time.Duration

	// CutAfter resets the connection that takes the proxy beyond this many bytes of
	// answers, from when the Fault is set; the bytes before are passed on. 0 is never.
	CutAfter int64

	// Match resets the connections whose client sends one of these texts, of up
	// to 256 bytes: before it reaches the server, or, if Carried is set, once the
	// server has answered. The answer is lost either way.
	Match   []string
	Carried bool
}

// TCP is a proxy for connections to one server. It is safe for concurrent use.
type TCP struct {
	listener net.Listener
	target   string
	active   sync.WaitGroup
	did      atomic.Int64

	mu      sync.Mutex
	fault   Fault
	answers int64         // bytes passed on since fault was set
	changed chan struct{} // closed when fault is replaced, or the proxy closed
	links   map[*link]struct{}
	closed  bool
}

// ListenTCP returns a proxy, on a free port of this machine, for the server at an
// address. The caller closes it.
func ListenTCP(target string) (*TCP, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &TCP{listener: listener, target: target, changed: make(chan struct{}), links: map[*link]struct{}{}}
	p.active.Go(p.accept)
	return p, nil
}

// Addr is where clients find the proxy, as HOST:PORT.
func (p *TCP) Addr() string { return p.listener.Addr().String() }

// Set makes f what the proxy does from now on.
func (p *TCP) Set(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.answers = f, 0
	p.tell()
}

// tell wakes those who wait for a change. p.mu is held.
func (p *TCP) tell() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// Did counts what was done on purpose: connections that were refused or reset, and
// pieces that were held back or delayed.
func (p *TCP) Did() int64 { return p.did.Load() }

// Cut resets all connections that are open, and returns how many those were.
func (p *TCP) Cut() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.reset()
	}
	p.did.Add(int64(len(p.links)))
	return len(p.links)
}

// Close ends the proxy and its connections.
func (p *TCP) Close() error {
	err := p.listener.Close()
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		p.tell()
	}
	p.mu.Unlock()
	p.Cut()
	p.active.Wait()
	return err
}

func (p *TCP) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.active.Go(func() { p.serve(client.(*net.TCPConn)) })
	}
}

// serve passes on what comes and goes on a connection.
func (p *TCP) serve(client *net.TCPConn) {
	l := &link{client: client}
	p.mu.Lock()
	refuse, closed := p.fault.Refuse, p.closed
	if !refuse && !closed {
		p.links[l] = struct{}{}
	}
	p.mu.Unlock()
	if refuse {
		p.did.Add(1)
	}
	if refuse || closed {
		l.reset()
		return
	}
	defer func() {
		l.reset()
		p.mu.Lock()
		delete(p.links, l)
		p.mu.Unlock()
	}()
	server, err := net.Dial("tcp", p.target)
	if err != nil || !l.join(server.(*net.TCPConn)) {
		return
	}
	var answers sync.WaitGroup
	answers.Go(func() { p.pump(l, l.server, l.client, p.answer) })
	p.pump(l, l.client, l.server, p.ask)
	answers.Wait()
}

// A piece is some bytes on their way. Whether it is passed on, and whether the
// connection is reset then, is for ask and answer to say.
type piece func(l *link, b []byte, f *Fault) (pass []byte, cut bool)

// pump passes on what comes from one side to the other.
func (p *TCP) pump(l *link, from, to *net.TCPConn, do piece) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if n > 0 {
			f, ok := p.wait()
			if !ok {
				return
			}
			pass, cut := do(l, b[:n], &f)
			if len(pass) > 0 {
				if _, err := to.Write(pass); err != nil {
					l.reset()
					return
				}
			}
			if cut {
				p.did.Add(1)
				l.reset()
				return
			}
		}
		if err != nil {
			_ = to.CloseWrite()
			return
		}
	}
}

// wait returns what to do to a piece, once it may be passed on; false if the proxy
// is closed.
func (p *TCP) wait() (Fault, bool) {
	waited := false
	for delayed := false; ; {
		p.mu.Lock()
		f, changed, closed := p.fault, p.changed, p.closed
		p.mu.Unlock()
		if !waited && (f.Silent || f.Delay > 0) {
			waited = true
			p.did.Add(1)
		}
		switch {
		case closed:
			return f, false
		case f.Silent:
			<-changed
		case f.Delay > 0 && !delayed:
			select {
			case <-time.After(f.Delay):
				delayed = true
			case <-changed:
			}
		default:
			return f, true
		}
	}
}

// ask passes on what a client sends.
func (p *TCP) ask(l *link, b []byte, f *Fault) (pass []byte, cut bool) {
	if len(f.Match) == 0 {
		l.seen = nil
		return b, false
	}
	l.seen = append(l.seen, b...)
	if slices.ContainsFunc(f.Match, func(text string) bool { return bytes.Contains(l.seen, []byte(text)) }) {
		if !f.Carried {
			return nil, true
		}
		l.lose.Store(true)
	}
	// What is looked for may come in two pieces.
	const longest = 256 // of what is looked for
	l.seen = bytes.Clone(l.seen[max(0, len(l.seen)-longest+1):])
	return b, false
}

// answer passes on what the server sends.
func (p *TCP) answer(l *link, b []byte, f *Fault) (pass []byte, cut bool) {
	if l.lose.Load() {
		return nil, true
	}
	if f.CutAfter == 0 {
		return b, false
	}
	p.mu.Lock()
	left := f.CutAfter - p.answers
	p.answers += int64(len(b))
	p.mu.Unlock()
	if left >= int64(len(b)) {
		return b, false
	}
	return b[:max(left, 0)], true
}

// A link is a connection from a client, and the one to the server that it is passed
// on to.
type link struct {
	client *net.TCPConn
	seen   []byte      // the end of what the client has sent, while there is something to match
	lose   atomic.Bool // whether the next answer is lost, and the connection with it

	mu     sync.Mutex
	server *net.TCPConn // nil until there is one
	over   bool
}

// join adds the server's side, and reports whether the link still is of use.
func (l *link) join(server *net.TCPConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.server = server
	if l.over {
		abort(server)
	}
	return !l.over
}

// reset ends both sides at once, without what is on its way.
func (l *link) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	l.over = true
	abort(l.client)
	if l.server != nil {
		abort(l.server)
	}
}

// abort closes a connection as a machine does that knows nothing of it any more.
func abort(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}
