package pgstore_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"memento/test/services"
)

// A wire stands between a backend and its server, and knows enough of the protocol
// to see statements go by. Source: PostgreSQL documentation, "Frontend/Backend Protocol".
type wire struct {
	url      string
	listener net.Listener

	statements atomic.Int64 // executed
	trips      atomic.Int64 // waits for the server

	mu  sync.Mutex
	cut func(statement string) cut // asked of every statement; may be nil

	late      chan struct{} // closed to deliver delayed messages
	delivered chan struct{} // closed when it is; only one statement can be late
}

// A cut is what becomes of a connection at a statement.
type cut int

const (
	cutNot    cut = iota
	cutBefore     // the server never hears of it
	cutAfter      // the server carries it out, and nobody hears of that
	cutLate       // the client hears nothing, and the server hears of it when deliver is called
)

func newWire(t *testing.T) *wire {
	t.Helper()
	at, err := url.Parse(os.Getenv(services.PostgresVariable))
	if err != nil {
		t.Fatal(err)
	}
	server := at.Host
	w := &wire{late: make(chan struct{}), delivered: make(chan struct{})}
	if w.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	at.Host = w.listener.Addr().String()
	w.url = at.String()
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			client, err := w.listener.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { w.serve(client, server) })
		}
	})
	t.Cleanup(func() {
		w.listener.Close()
		wg.Wait()
	})
	return w
}

// atStatements has choose say from now on what becomes of connections.
func (w *wire) atStatements(choose func(statement string) cut) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = choose
}

// deliver passes on what was cut as late, and returns when the server has done it.
func (w *wire) deliver() {
	close(w.late)
	<-w.delivered
}

func (w *wire) choose(statement string) cut {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut == nil {
		return cutNot
	}
	return w.cut(statement)
}

func (w *wire) serve(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	silent := make(chan struct{}) // closed when answers must not be passed on
	var once sync.Once
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer client.Close()
		buffer := make([]byte, 64<<10)
		for {
			n, err := server.Read(buffer)
			select {
			case <-silent: // the answer is here: the server has done it
				return
			default:
			}
			if _, writeErr := client.Write(buffer[:n]); err != nil || writeErr != nil {
				return
			}
		}
	}()
	w.pass(client, server, func() { once.Do(func() { close(silent) }) }, done)
	server.Close()
	<-done
}

// pass passes on the client's messages.
func (w *wire) pass(client io.ReadCloser, server io.Writer, silence func(), done chan struct{}) {
	named := map[string]string{} // prepared statements
	for first := true; ; first = false {
		head := make([]byte, 5)
		if first { // without a type
			head = head[:4]
		}
		if _, err := io.ReadFull(client, head); err != nil {
			return
		}
		size := binary.BigEndian.Uint32(head[len(head)-4:])
		body := make([]byte, size-4)
		if _, err := io.ReadFull(client, body); err != nil {
			return
		}
		statement, executes := "", false
		if !first {
			part := bytes.SplitN(body, []byte{0}, 3)
			switch head[0] {
			case 'P': // Parse: name, statement
				named[string(part[0])] = string(part[1])
			case 'B': // Bind: portal, name
				statement, executes = named[string(part[1])], true
			case 'Q':
				statement, executes = string(part[0]), true
				w.trips.Add(1)
			case 'S':
				w.trips.Add(1)
			}
		}
		what := cutNot
		if executes {
			w.statements.Add(1)
			what = w.choose(statement)
		}
		if what == cutBefore {
			return
		}
		if what == cutAfter || what == cutLate {
			silence()
		}
		if what == cutLate {
			rest, n := make([]byte, 64<<10), 0 // of what belongs to it
			if head[0] == 'B' {
				n, _ = client.Read(rest)
			}
			client.Close()
			<-w.late
			server.Write(append(append(head, body...), rest[:n]...))
			<-done
			close(w.delivered)
			return
		}
		if _, err := server.Write(append(head, body...)); err != nil {
			return
		}
		if what == cutAfter && head[0] == 'B' { // the rest of what belongs to it
			rest := make([]byte, 64<<10)
			n, _ := client.Read(rest)
			server.Write(rest[:n])
		}
		if what == cutAfter {
			<-done
			return
		}
	}
}
