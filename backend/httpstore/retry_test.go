package httpstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/backend/httpstore"
)

// busy answers as servers do that have not begun with a request.
func busy(rw http.ResponseWriter, status int, header, value string) {
	rw.Header().Set(header, value)
	rw.WriteHeader(status)
	fmt.Fprint(rw, `{"type":"error","error":{"type":"overloaded_error","message":"too many concurrent requests"}}`)
}

// first lets a front answer the first n requests only.
func first(n int64, f front) front {
	var seen atomic.Int64
	return func(rw http.ResponseWriter, r *http.Request, server http.Handler) {
		if seen.Add(1) <= n {
			f(rw, r, server)
			return
		}
		server.ServeHTTP(rw, r)
	}
}

// cut breaks the connection without an answer.
func cut(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

// lose has the server do what it is asked, and breaks the connection.
func lose(_ http.ResponseWriter, r *http.Request, server http.Handler) {
	server.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

func TestBusyServers(t *testing.T) {
	w := newWorld(t)
	b := w.open(httpstore.Options{})
	for i, tt := range []struct {
		status        int
		header, value string
	}{
		{429, "retry-after-ms", "1"}, {503, "retry-after", time.Now().UTC().Format(http.TimeFormat)}, {529, "retry-after", "0"},
	} {
		f := func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
			busy(rw, tt.status, tt.header, tt.value)
		}
		w.stand(first(2, f))
		if _, err := b.Apply(t.Context(), w.store, ann, put("/a", fmt.Sprint(i))); err != nil || w.asked.Load() != 3 {
			t.Errorf("%d: a write: %v, after %d requests", tt.status, err, w.asked.Load())
		}
		w.stand(first(2, f))
		if m, err := b.Get(t.Context(), w.store, memento.ByPath("/a")); err != nil || m.Content != fmt.Sprint(i) || w.asked.Load() != 3 {
			t.Errorf("%d: a read: %+v, %v, after %d requests", tt.status, m, err, w.asked.Load())
		}
		w.stand(first(2, f))
		n := 0
		for _, err := range b.List(t.Context(), w.store, memento.ListOptions{}) {
			if n++; err != nil {
				t.Errorf("%d: a listing: %v", tt.status, err)
			}
		}
		if n != 1 {
			t.Errorf("%d: a listing of %d entries", tt.status, n)
		}
	}
}

func TestGivingUp(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct {
		retries int
		header  string
		value   string
		asked   int64
	}{
		{2, "retry-after-ms", "1", 3},
		{-1, "retry-after-ms", "1", 1},
		{2, "retry-after", "3600", 1}, // nobody waits that long
		{2, "x-should-retry", "false", 1},
	} {
		b := w.open(httpstore.Options{Retries: tt.retries})
		w.stand(func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) { busy(rw, 529, tt.header, tt.value) })
		_, err := b.Apply(t.Context(), w.store, ann, put("/a", "x"))
		e, ok := errors.AsType[*httpstore.StatusError](err)
		if !ok || e.Status != 529 || w.asked.Load() != tt.asked {
			t.Errorf("%+v: %v, after %d requests", tt, err, w.asked.Load())
		}
		w.stand(cut)
		if _, err := b.Get(t.Context(), w.store, memento.ByPath("/a")); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
			t.Errorf("%+v: a read: %v", tt, err)
		}
		w.front.Store(nil)
	}
	// A wait ends with the context.
	b := w.open(httpstore.Options{})
	w.stand(func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) { busy(rw, 529, "retry-after", "20") })
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() {
		_, err := b.Get(ctx, w.store, memento.ByPath("/a"))
		stopped <- err
	}()
	for w.asked.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-stopped; !errors.Is(err, context.Canceled) && !strings.Contains(fmt.Sprint(err), "529") {
		t.Errorf("cancelled: %v", err)
	}
	w.front.Store(nil)
}

// TestLostConnections breaks connections before and after the server has done what
// it was asked.
func TestLostConnections(t *testing.T) {
	w := newWorld(t)
	b := w.open(httpstore.Options{})
	if _, err := b.Apply(t.Context(), w.store, ann, put("/a", "one")); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]front{"cut": cut, "lost": lose} {
		w.stand(first(2, f))
		if m, err := b.Get(t.Context(), w.store, memento.ByPath("/a")); err != nil || m.Content != "one" {
			t.Errorf("%s: a read: %+v, %v", name, m, err)
		}
	}
	// A write is made at most once, and it is said that nobody knows.
	for name, tt := range map[string]struct {
		f    front
		made int
	}{"cut": {cut, 0}, "lost": {lose, 1}} {
		w.stand(first(1, tt.f))
		_, err := b.Apply(t.Context(), w.store, ann, []memento.Change{memento.Put{Path: memento.Path("/" + name), If: memento.IfAbsent()}})
		if !errors.Is(err, memento.ErrUncertain) || w.asked.Load() != 1 {
			t.Errorf("%s: a write: %v, after %d requests", name, err, w.asked.Load())
		}
		hides(t, err, w.key)
		n := 0
		for range w.behind.ListVersions(t.Context(), w.store, memento.VersionListOptions{Path: memento.Path("/" + name)}) {
			n++
		}
		if n != tt.made {
			t.Errorf("%s: made %d times, want %d", name, n, tt.made)
		}
	}
	// What stands between here and the server gives up, or the server itself does.
	for status, text := range map[int]string{
		502: "<html>", 504: `{"type":"error","error":{"type":"timeout_error","message":"the request timed out"}}`, 200: "<html>",
	} {
		w.stand(func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
			rw.WriteHeader(status)
			_, _ = io.WriteString(rw, text)
		})
		if _, err := b.Apply(t.Context(), w.store, ann, put("/b", "x")); !errors.Is(err, memento.ErrUncertain) || w.asked.Load() != 1 {
			t.Errorf("%d: a write: %v, after %d requests", status, err, w.asked.Load())
		}
	}
	// An answer of which only a part comes.
	half := func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		rw.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(rw, `{"id":`)
		panic(http.ErrAbortHandler)
	}
	w.stand(first(1, half))
	if _, err := b.GetStore(t.Context(), "team", w.store); err != nil || w.asked.Load() != 2 {
		t.Errorf("half a read: %v, after %d requests", err, w.asked.Load())
	}
	w.stand(first(1, half))
	if _, err := b.Apply(t.Context(), w.store, ann, put("/b", "x")); !errors.Is(err, memento.ErrUncertain) {
		t.Errorf("half an answer to a write: %v", err)
	}
	w.front.Store(nil)
}

// TestServerThatIsGone writes to a server that does not run any more: nothing can
// have happened.
func TestServerThatIsGone(t *testing.T) {
	w := newWorld(t)
	s := httptest.NewServer(w.api)
	// A connection that is kept would be found closed, which leaves a write uncertain.
	fresh := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	b, err := httpstore.Open(t.Context(), s.URL, &httpstore.Options{Key: w.key, Retries: 2, HTTPClient: fresh})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Apply(t.Context(), w.store, ann, put("/a", "one")); err != nil {
		t.Fatal(err)
	}
	s.Close()
	for what, err := range map[string]error{
		"write": second(b.Apply(t.Context(), w.store, ann, put("/a", "two"))),
		"read":  second(b.Get(t.Context(), w.store, memento.ByPath("/a"))),
	} {
		if err == nil || errors.Is(err, memento.ErrUncertain) || !strings.Contains(err.Error(), "the server cannot be reached: connection refused") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestContextOfAWriteEnds while the server is at it. An answer that comes soon counts.
func TestContextOfAWriteEnds(t *testing.T) {
	w := newWorld(t)
	b := w.open(httpstore.Options{})
	arrived, release := make(chan bool, 1), make(chan bool)
	w.stand(func(rw http.ResponseWriter, r *http.Request, server http.Handler) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		arrived <- true
		<-release
		server.ServeHTTP(rw, r)
	})
	apply := func(text string) (cancel func(), done chan error) {
		ctx, cancel := context.WithCancel(t.Context())
		done = make(chan error, 1)
		go func() {
			_, err := b.Apply(ctx, w.store, ann, put("/a", text))
			done <- err
		}()
		<-arrived
		return cancel, done
	}
	cancel, done := apply("soon")
	cancel()
	release <- true
	if err := <-done; err != nil {
		t.Errorf("answered soon: %v", err)
	}
	cancel, done = apply("never")
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("never answered: %v", err)
	}
	release <- true
	w.front.Store(nil)
}
