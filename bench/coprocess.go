package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"time"
)

// A coprocess is memento as a program in any language uses it: one `memento tool`
// held open, a line of JSON in, a line of JSON out.
type coprocess struct {
	file    string // of the store
	process *process
}

func startCoprocess(ctx context.Context, binary, file string) (*coprocess, error) {
	p, err := startProcess(exec.CommandContext(ctx, binary, "--backend", "sqlite:"+file, "tool"))
	if err != nil {
		return nil, err
	}
	return &coprocess{file, p}, nil
}

// replay sends all lanes' calls one after the other: there is one pair of pipes.
func (c *coprocess) replay(_ context.Context, file string, atLeast time.Duration) (measure, error) {
	lanes, err := readLanes(file)
	if err != nil {
		return measure{}, err
	}
	inputs := slices.Concat(lanes...)
	for i := range inputs {
		inputs[i] = append(inputs[i], '\n')
	}
	start := time.Now()
	var m measure
	for {
		for _, in := range inputs {
			if err := c.call(in); err != nil {
				return measure{}, err
			}
		}
		m.Calls += len(inputs)
		if took := time.Since(start); took >= atLeast {
			m.Nanos = took.Nanoseconds()
			return m, nil
		}
	}
}

// call sends one line and decodes its answer, as any caller must.
func (c *coprocess) call(line []byte) error {
	answer, err := c.process.ask(line)
	if err != nil {
		return fmt.Errorf("memento tool: %w", err)
	}
	var result struct {
		Content string `json:"content"`
		IsError bool   `json:"is_error"`
	}
	if err := json.Unmarshal(answer, &result); err != nil {
		return fmt.Errorf("memento tool answered %.200q: %w", answer, err)
	}
	if result.IsError {
		return fmt.Errorf("memento tool refused %.200s: %s", line, result.Content)
	}
	return nil
}

// settle does from here what the co-process would do once it is idle.
func (c *coprocess) settle(ctx context.Context) (time.Duration, error) {
	return besides(ctx, c.file, (*library).settle)
}

func (c *coprocess) notes(ctx context.Context) (map[string]string, error) {
	return besides(ctx, c.file, (*library).notes)
}

// besides opens another process's file in this one too.
func besides[T any](ctx context.Context, file string, do func(*library, context.Context) (T, error)) (result T, err error) {
	l, err := openLibrary(ctx, file, nil)
	if err != nil {
		return result, err
	}
	result, err = do(l, ctx)
	return result, errors.Join(err, l.close())
}

func (c *coprocess) close() error { return c.process.close() }
