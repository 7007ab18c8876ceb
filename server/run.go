package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// ErrCutOff is returned by [Server.Run] if requests were still running at the end of
// the grace period. A write of such a request was made completely or not at all.
var ErrCutOff = errors.New("requests were interrupted")

// Run serves until ctx ends. Then it finishes the accepted requests, within the
// configured grace period, and returns nil.
//
// Errors: ErrCutOff; any other error is the failure of a listener.
func (s *Server) Run(ctx context.Context) error {
	defer s.Close()
	background, endBackground := context.WithCancel(ctx)
	defer endBackground()
	var tasks, listeners sync.WaitGroup
	s.maintenance.start(background)
	tasks.Go(func() { s.maintenance.run(background) })
	tasks.Go(func() { giveBackMemory(background, s.api, s.budget) })

	failed := make(chan error, 3)
	serve := func(h *http.Server, l net.Listener, certs *certificates) {
		listeners.Go(func() {
			var err error
			if certs != nil {
				h.TLSConfig = certs.config()
				err = h.ServeTLS(l, "", "")
			} else {
				err = h.Serve(l)
			}
			if !errors.Is(err, http.ErrServerClosed) {
				failed <- errors.New("the listener failed: " + reasonFor(err))
			}
		})
	}
	var side []*http.Server
	if s.metricsListener != nil {
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", s.metrics.handler())
		h := s.httpServer(withoutBodies(mux))
		h.WriteTimeout = scrapeTimeout
		side = append(side, h)
		serve(h, s.metricsListener, nil)
	}
	if s.pprof != nil {
		h := s.httpServer(withoutBodies(profiles()))
		side = append(side, h)
		serve(h, s.pprof, nil)
	}
	main := s.httpServer(s.health.around(s.traces.around(s.counted(s.withConsole(s.withMCP(s.withGateway()))))))
	serve(main, s.main, s.certs)

	var fault error
	select {
	case <-ctx.Done():
	case fault = <-failed:
	}
	endBackground()
	if cut := s.drain(main); fault == nil {
		fault = cut
	}
	s.last(side)
	listeners.Wait()
	waitFor(&tasks, lastGrace)
	s.logger.Info("ended")
	return fault
}

// waitFor waits for tasks to end, for at most a given time.
func waitFor(tasks *sync.WaitGroup, most time.Duration) {
	ended := make(chan struct{})
	go func() {
		tasks.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(most):
	}
}

// drain shuts down the main listener.
func (s *Server) drain(main *http.Server) error {
	s.health.draining.Store(true)
	s.logger.Info("shutting down; finishing running requests", "grace", formatDuration(s.config.Shutdown.Grace))
	time.Sleep(s.config.Shutdown.Delay)
	s.api.Close() // ends streams of changes, which would not end by themselves
	if s.console != nil {
		s.console.Close()
	}
	if s.mcp != nil {
		s.mcp.Close() // the same
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.config.Shutdown.Grace)
	defer cancel()
	if err := main.Shutdown(ctx); err != nil {
		main.Close()
		return fmt.Errorf("%w: still running after %s", ErrCutOff, formatDuration(s.config.Shutdown.Grace))
	}
	return nil
}

// last shuts down what does not serve API requests: webhooks, traces and the other
// listeners.
func (s *Server) last(side []*http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), hooksGrace)
	s.hooks.close(ctx)
	cancel()
	ctx, cancel = context.WithTimeout(context.Background(), lastGrace)
	defer cancel()
	s.traces.close(ctx)
	for _, h := range side {
		if h.Shutdown(ctx) != nil {
			h.Close()
		}
	}
}

func (s *Server) httpServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           s.recoverPanics(h),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          log.New(errorLog{s.logger}, "", 0),
	}
}

// recoverPanics answers with an error if a handler panics. The API recovers its own
// panics; this is for the handlers around it.
func (s *Server) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			fault := recover()
			switch {
			case fault == nil:
				return
			case fault == http.ErrAbortHandler:
				panic(fault) // aborts the response on purpose; package http does not log it
			}
			// Only the type of any other value: the value may contain contents of a
			// memory.
			text := fmt.Sprintf("%T", fault)
			if err, ok := fault.(runtime.Error); ok {
				text = err.Error()
			}
			s.logger.Error("panic", "fault", text, "stack", string(debug.Stack()))
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, `{"type":"error","error":{"type":"api_error","message":"internal error"}}`+"\n")
		}()
		next.ServeHTTP(w, r)
	})
}

// withoutBodies limits the wait for the bodies of requests, since next does not read
// them.
func withoutBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limitBodyWait(w, r)
		next.ServeHTTP(w, r)
	})
}

// limitBodyWait limits the time for receiving a request body that no handler reads.
// Package http reads such a body to its end before it answers, without a limit of time,
// and the server could not shut down meanwhile.
func limitBodyWait(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyGrace))
	}
}

// limitAnswer limits the time for sending a response from now on, in place of the deadline
// that an earlier response on the connection has left.
func limitAnswer(w http.ResponseWriter, d time.Duration) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(d))
}

// counted counts the requests that are being answered.
func (s *Server) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.metrics.inFlight.Inc()
		defer s.metrics.inFlight.Dec()
		next.ServeHTTP(w, r)
	})
}
