package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"time"
)

// A coprocess is memento as a program in any language can use it: one `memento tool`
// kept open, a line of JSON in, a line of JSON out. It serves one caller.
type coprocess struct {
	sharedFile
	process *process
}

func startCoprocess(ctx context.Context, binary, file string) (*coprocess, error) {
	p, err := startProcess(exec.CommandContext(ctx, binary, "--backend", "sqlite:"+file, "tool"))
	if err != nil {
		return nil, err
	}
	return &coprocess{sharedFile(file), p}, nil
}

func (c *coprocess) name() string { return nameCoprocess }

func (c *coprocess) replay(_ context.Context, file string, atLeast time.Duration) (measure, error) {
	return replayFile(file, atLeast, func(input []byte) error { return c.call(append(input, '\n')) })
}

// call sends one line, which ends in a newline, and decodes its answer.
func (c *coprocess) call(line []byte) error {
	answer, err := c.process.ask(line)
	if err != nil {
		return fmt.Errorf("memento tool: %w", err)
	}
	return checkResult(nameCoprocess, line, answer)
}

// checkResult decodes a result of the tool, as any caller must, and returns an error
// if the result is one.
func checkResult(contender string, input, answer []byte) error {
	var result struct {
		Content string `json:"content"`
		IsError bool   `json:"is_error"`
	}
	if err := json.Unmarshal(answer, &result); err != nil {
		return fmt.Errorf("%s answered %.200q: %w", contender, answer, err)
	}
	if result.IsError {
		return fmt.Errorf("%s refused %.200s: %s", contender, input, result.Content)
	}
	return nil
}

func (c *coprocess) close() error { return c.process.close() }
