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
	// Refuse resets new connections at once. Open ones continue.
	Refuse bool

	// Silent holds back all bytes, in both directions, and closes nothing. They are
	// passed on when another Fault is set.
	Silent bool

	// Delay is how long each piece is delayed, in each direction.
	Delay time.Duration

	// CutAfter resets the connection on which the total of response bytes since the Fault
	// was set exceeds this number; the bytes before are passed on. 0 means never.
	CutAfter int64

	// Match resets the connections whose client sends one of these texts, of up to 256
	// bytes: before it reaches the server, or, if Carried is set, after the server has
	// responded. The response is lost in both cases.
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
	changed chan struct{} // closed when fault is replaced, or the proxy is closed
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

// Addr returns the address of the proxy, as HOST:PORT.
func (p *TCP) Addr() string { return p.listener.Addr().String() }

// Set sets the fault.
func (p *TCP) Set(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.answers = f, 0
	p.tell()
}

// tell wakes goroutines that wait for a change. p.mu is held.
func (p *TCP) tell() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// Did returns the number of faults caused: connections that were refused or reset, and
// pieces that were held back or delayed.
func (p *TCP) Did() int64 { return p.did.Load() }

// Cut resets all open connections, and returns their number.
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

// serve passes on the data of a connection in both directions.
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

// A piece decides about some bytes on their way: which of them to pass on, and whether to
// reset the connection then. It is ask or answer.
type piece func(l *link, b []byte, f *Fault) (pass []byte, cut bool)

// pump passes on data from one side to the other.
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

// wait returns the fault to apply to a piece, once it may be passed on; false if the
// proxy is closed.
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
	// A text to match may arrive in two pieces.
	const longest = 256 // length of a text to match
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

// A link is a client's connection together with the one to the server.
type link struct {
	client *net.TCPConn
	seen   []byte      // the end of what the client has sent, while there is something to match
	lose   atomic.Bool // whether the next response is lost, and the connection with it

	mu     sync.Mutex
	server *net.TCPConn // nil until it is connected
	over   bool
}

// join adds the server's side, and reports whether the link is still in use.
func (l *link) join(server *net.TCPConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.server = server
	if l.over {
		abort(server)
	}
	return !l.over
}

// reset ends both sides at once, without sending pending data.
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

// abort resets a connection.
func abort(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}
