package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// baselineEnv is set in the process that serves the baseline of the HTTP benchmark: a
// net/http handler that always sends the contents of the file it names.
const baselineEnv = "MEMENTO_BENCH_BASELINE"

// serveBaseline is that process. It prints its URL, and ends when its standard input does.
func serveBaseline(file string) error {
	answer, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	}))
}

// httpFigures are the rates of viewing a file over HTTP, in calls a second.
type httpFigures struct {
	callers     int
	bytes       int // of each answer
	server      float64
	baseline    float64
	ofOneCaller float64 // of the server
}

// benchmarkHTTP measures views of one note through `memento serve`, in turns with the
// baseline.
func (b *bench) benchmarkHTTP(ctx context.Context, r *report) (err error) {
	fmt.Fprintln(b.progress, "a view over HTTP, and the baseline")
	f := &httpFigures{callers: 16}
	w, err := newWorkload(b.seed, 20, 1, counts{})
	if err != nil {
		return err
	}
	file := filepath.Join(b.work, "http.db")
	if err := fillFile(ctx, file, w.notes); err != nil {
		return err
	}
	s, err := startServer(ctx, b.binary, file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	input := viewInput(w.notes[0].path)
	answer, err := s.client.send(ctx, http.MethodPost, s.client.url, input)
	if err != nil {
		return err
	}
	f.bytes = len(answer)
	sent := filepath.Join(b.work, "answer.json")
	if err := os.WriteFile(sent, answer, 0o600); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), baselineEnv+"="+sent)
	p, err := startProcess(cmd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	baseline := newClient()
	if baseline.url, err = p.out.ReadString('\n'); err != nil {
		return err
	}
	baseline.url = strings.TrimSpace(baseline.url)

	sides := []struct {
		client  *client
		callers int
		rate    *float64
		rates   []float64
	}{{s.client, f.callers, &f.server, nil}, {baseline, f.callers, &f.baseline, nil}, {s.client, 1, &f.ofOneCaller, nil}}
	for round := range b.rounds + 1 {
		for i := range sides {
			side := &sides[i]
			m, err := repeatCalls(side.callers, 4*b.readTime(), func(int) (int, error) {
				const calls = 50
				for range calls {
					if err := side.client.call(ctx, input); err != nil {
						return 0, err
					}
				}
				return calls, nil
			})
			if err != nil {
				return err
			}
			if round > 0 { // the first is a warm-up
				side.rates = append(side.rates, m.perSecond())
			}
		}
	}
	for _, side := range sides {
		*side.rate = median(side.rates)
	}
	r.http = f
	return nil
}
