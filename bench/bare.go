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
	"time"
)

// bareEnv is set in a process that is to be a bare server: one handler of
// net/http that sends the same bytes, those of the file it names.
const bareEnv = "MEMENTO_BENCH_BARE"

// serveBare is that process. It ends with its standard input.
func serveBare(file string) error {
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

// overHTTP is how fast memories are viewed over HTTP, beside a server that does
// nothing but send.
type overHTTP struct {
	Callers int     `json:"callers"`
	Bytes   int     `json:"bytes"` // of each answer
	Bare    float64 `json:"bare_per_second"`
	Memento float64 `json:"memento_per_second"`
}

// measureOverHTTP has both sides answer views of one note, in turns.
func (b *bench) measureOverHTTP(ctx context.Context) (f overHTTP, err error) {
	f.Callers = 16
	fmt.Fprintf(b.progress, "a view over HTTP beside a bare handler\n")
	w, err := newWorkload(b.seed, 20, 1, counts{})
	if err != nil {
		return f, err
	}
	file := filepath.Join(b.work, "http.db")
	if err := fillFile(ctx, file, w.notes); err != nil {
		return f, err
	}
	s, err := startServing(ctx, b.binary, file)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	call := viewLine(w.notes[0].path)
	answer, err := post(ctx, s.client, s.url+"/v1/memory_stores/"+s.store+"/tool", s.key, call)
	if err != nil {
		return f, err
	}
	f.Bytes = len(answer)
	sent := filepath.Join(b.work, "answer.json")
	if err := os.WriteFile(sent, answer, 0o600); err != nil {
		return f, err
	}
	bare, err := startBare(ctx, sent)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, bare.close()) }()
	line, err := bare.out.ReadString('\n')
	if err != nil {
		return f, err
	}
	other := &serving{url: line[:len(line)-1], client: newClient(), store: s.store}

	var ours, theirs []float64
	for range b.rounds + 1 { // the first warms up
		for _, side := range []struct {
			s     *serving
			rates *[]float64
		}{{s, &ours}, {other, &theirs}} {
			m, err := side.s.repeat(ctx, call, f.Callers, 4*b.readTime())
			if err != nil {
				return f, err
			}
			*side.rates = append(*side.rates, m.perSecond())
		}
	}
	f.Memento, f.Bare = median(ours[1:]), median(theirs[1:])
	return f, nil
}

func startBare(ctx context.Context, file string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), bareEnv+"="+file)
	return startProcess(cmd)
}

// repeat has callers make one call over and over.
func (s *serving) repeat(ctx context.Context, line []byte, callers int, atLeast time.Duration) (measure, error) {
	return callAll(ctx, callers, atLeast, func(ctx context.Context, _, _ int) error { return s.call(ctx, s.store, line) })
}
