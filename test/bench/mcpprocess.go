package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"memento/internal/strictjson"
)

// mcpEra is the newest version of the protocol that all servers of the comparison speak.
const mcpEra = "2025-11-25"

// An mcpProcess is a server of the Model Context Protocol on standard input and output. It
// answers any number of calls at once.
type mcpProcess struct {
	name    string
	cmd     *exec.Cmd
	in      io.WriteCloser
	started time.Duration // from the start of the process to the answer to initialize

	mu      sync.Mutex
	next    int64
	waiting map[int64]chan mcpAnswer
	err     error // why there are no more answers
}

type mcpAnswer struct {
	id      int64
	call    bool   // whether it is no answer, but the server's own message
	ended   bool   // whether the server has ended without an answer
	text    string // of the result
	refused string // why the server refused the request; "" if it did not
}

// parseMCP parses a message. It is quick, because the client and the servers share the
// machine.
func parseMCP(line []byte) (a mcpAnswer, err error) {
	object := func(raw []byte) map[string]json.RawMessage {
		if err != nil || len(raw) == 0 {
			return nil
		}
		var members map[string]json.RawMessage
		s := strictjson.Scanner{Text: raw, MaxDepth: 64}
		members, err = s.Object(64)
		return members
	}
	message := object(line)
	if message["method"] != nil {
		a.call = true
		return a, err
	}
	if err == nil {
		err = json.Unmarshal(message["id"], &a.id)
	}
	result := object(message["result"])
	if content := bytes.TrimSuffix(bytes.TrimPrefix(result["content"], []byte("[")), []byte("]")); len(content) > 0 {
		if text := object(content)["text"]; len(text) > 1 { // there is one
			a.text = strictjson.Unquote(text)
		}
	}
	if refusal := message["error"]; refusal != nil {
		a.refused = string(refusal)
	} else if string(result["isError"]) == "true" {
		a.refused = a.text
	}
	return a, err
}

// startMCP starts a server and introduces the client.
func startMCP(ctx context.Context, name string, cmd *exec.Cmd) (*mcpProcess, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var log strings.Builder // says why it does not start
	cmd.Stderr = &log
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &mcpProcess{name: name, cmd: cmd, in: in, waiting: map[int64]chan mcpAnswer{}}
	go p.read(out)
	_, err = p.ask(ctx, "initialize", map[string]any{
		"protocolVersion": mcpEra, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "bench", "version": "1"},
	})
	p.started = time.Since(begun)
	if err == nil {
		_, err = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	}
	if err != nil {
		closed := p.close() // ends the writing to log
		return nil, errors.Join(fmt.Errorf("%s does not start: %w: %s", name, err, log.String()), closed)
	}
	return p, nil
}

// read passes the answers on to those who wait for them.
func (p *mcpProcess) read(out io.Reader) {
	lines := bufio.NewReaderSize(out, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		var a mcpAnswer
		if err == nil {
			a, err = parseMCP(line)
		}
		p.mu.Lock()
		if err != nil {
			p.err = fmt.Errorf("the server has ended: %w", err)
			for _, wait := range p.waiting {
				wait <- mcpAnswer{ended: true}
			}
			p.mu.Unlock()
			return
		}
		wait := p.waiting[a.id]
		if !a.call {
			delete(p.waiting, a.id)
		}
		p.mu.Unlock()
		if wait != nil && !a.call {
			wait <- a
		}
	}
}

// ask sends a request and returns the text of its answer.
func (p *mcpProcess) ask(ctx context.Context, method string, params any) (string, error) {
	wait := make(chan mcpAnswer, 1)
	p.mu.Lock()
	err := p.err
	p.next++
	id := p.next
	p.waiting[id] = wait
	p.mu.Unlock()
	if err != nil {
		return "", err
	}
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		return "", err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return "", err
	}
	select {
	case a := <-wait:
		switch {
		case a.ended:
			return "", io.ErrUnexpectedEOF
		case a.refused != "":
			return "", fmt.Errorf("%s refused %.300s: %s", p.name, line, a.refused)
		}
		return a.text, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// call calls a tool.
func (p *mcpProcess) call(ctx context.Context, tool string, arguments map[string]any) (string, error) {
	return p.ask(ctx, "tools/call", map[string]any{"name": tool, "arguments": arguments})
}

// close closes the input of the server, upon which it ends, and waits for it.
func (p *mcpProcess) close() error {
	p.in.Close()
	err := p.cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%s: %w", p.name, exit)
	}
	return err
}

// processorTime returns how much processor time a running process has used; 0 where the
// system does not report it. It is about right on a busy machine, too.
func processorTime(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ") // after the name, which may have spaces
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	const tick = 10 * time.Millisecond // of all systems with /proc
	return time.Duration(user+system) * tick
}

// residentMemory returns the memory of a running process, in bytes: its own, which is neither
// of files nor shared; all that is resident, with the pages of its program's file; and the
// latter with each page divided among the processes that share it. They are 0 where the
// system does not report them.
func residentMemory(pid int) (own, resident, proportional int64) {
	field := func(file, name string) int64 {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
		if err != nil {
			return 0
		}
		_, rest, _ := strings.Cut(string(text), "\n"+name+":")
		var kb int64
		_, _ = fmt.Sscan(rest, &kb) // 0 if it is not there
		return kb * 1024
	}
	return field("status", "RssAnon"), field("status", "VmRSS"), field("smaps_rollup", "Pss")
}
