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

// ErrCutOff is returned by [Server.Run] if requests were still under way when the
// time for them to finish was over. What they wrote is whole or not there.
var ErrCutOff = errors.New("requests were cut off")

// Run serves until ctx ends. Then it finishes what was accepted, for as long as
// the configuration allows, and returns nil.
//
// Errors: ErrCutOff; anything else is a listener that failed.
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
	main := s.httpServer(s.health.around(s.traces.around(s.counted(s.api))))
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

// waitFor waits for what has been told to end, but not for ever.
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

// drain ends the main listener.
func (s *Server) drain(main *http.Server) error {
	s.health.draining.Store(true)
	s.logger.Info("ending; finishing what was accepted", "grace", formatDuration(s.config.Shutdown.Grace))
	time.Sleep(s.config.Shutdown.Delay)
	s.api.Close() // streams, which would not end by themselves
	ctx, cancel := context.WithTimeout(context.Background(), s.config.Shutdown.Grace)
	defer cancel()
	if err := main.Shutdown(ctx); err != nil {
		main.Close()
		return fmt.Errorf("%w: they had not finished after %s", ErrCutOff, formatDuration(s.config.Shutdown.Grace))
	}
	return nil
}

// last ends what is not about requests.
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

// unbreakable answers with an error if a handler panics. The API does so itself;
// this is for what is around it.
func (s *Server) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			fault := recover()
			switch {
			case fault == nil:
				return
			case fault == http.ErrAbortHandler:
				panic(fault) // an answer that is cut off on purpose; package http says nothing
			}
			// Of other values only the type: they may hold what a memory holds.
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

// withoutBodies answers requests whose bodies next does not read.
func withoutBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limitBodyWait(w, r)
		next.ServeHTTP(w, r)
	})
}

// forgoBody waits no longer than a moment for the body of a request that nobody
// reads. Package http reads it to its end before it answers, for as long as it takes
// to come, and so long the server could not end either.
func limitBodyWait(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyGrace))
	}
}

// counted keeps the number of requests under way.
func (s *Server) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.metrics.inFlight.Inc()
		defer s.metrics.inFlight.Dec()
		next.ServeHTTP(w, r)
	})
}
