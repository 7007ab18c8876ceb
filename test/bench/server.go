package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

// A server is memento as programs in any language use it over a network: one
// `memento serve`, and a request for each call. Each caller has a connection.
type server struct {
	sharedFile
	cmd    *exec.Cmd
	client *client
}

// startServer starts a server on a file with the default store, and waits until it
// listens.
func startServer(ctx context.Context, binary, file string) (*server, error) {
	cmd := exec.CommandContext(ctx, binary, "serve", "--backend", "sqlite:"+file, "--json",
		"--address", "127.0.0.1:0", "--metrics", "off", "--log-level", "warn")
	cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+file+".data") // where the server writes its first key
	var log bytes.Buffer                                          // says why it does not start
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{sharedFile: sharedFile(file), cmd: cmd, client: newClient()}
	if err := s.connect(ctx, bufio.NewReader(out)); err != nil {
		closed := s.close() // ends the writing to log
		return nil, errors.Join(fmt.Errorf("memento serve does not start: %w: %s", err, log.String()), closed)
	}
	return s, nil
}

// connect reads the server's address and key from its output, and finds the default
// store.
func (s *server) connect(ctx context.Context, out *bufio.Reader) error {
	var at struct {
		URL     string `json:"url"`
		KeyFile string `json:"key_file"`
	}
	if err := json.NewDecoder(out).Decode(&at); err != nil {
		return err
	}
	key, err := os.ReadFile(at.KeyFile)
	if err != nil {
		return err
	}
	s.client.key = strings.TrimSpace(string(key))
	answer, err := s.client.send(ctx, http.MethodGet, at.URL+"/v1/memory_stores?name=default", nil)
	if err != nil {
		return err
	}
	var page struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(answer, &page); err != nil {
		return err
	}
	if len(page.Data) != 1 {
		return fmt.Errorf("%d stores are named default", len(page.Data))
	}
	s.client.url = at.URL + "/v1/memory_stores/" + page.Data[0].ID + "/tool"
	return nil
}

func (s *server) name() string { return nameServer }

func (s *server) replay(ctx context.Context, file string, atLeast time.Duration) (measure, error) {
	return replayFile(file, atLeast, func(input []byte) error { return s.client.call(ctx, input) })
}

// close asks the server to end, and waits for it.
func (s *server) close() error {
	s.client.http.CloseIdleConnections()
	_ = s.cmd.Process.Signal(os.Interrupt)
	return s.cmd.Wait()
}

// A client calls the tool of one store over HTTP.
type client struct {
	http     *http.Client
	url, key string
}

func newClient() *client {
	return &client{http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}}
}

// call executes one call and decodes its answer.
func (c *client) call(ctx context.Context, input []byte) error {
	answer, err := c.send(ctx, http.MethodPost, c.url, input)
	if err != nil {
		return fmt.Errorf("memento serve: %w", err)
	}
	return checkResult(nameServer, input, answer)
}

// send sends a request and returns the body of the answer.
func (c *client) send(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Api-Key", c.key)
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var text bytes.Buffer
	if answer.ContentLength > 0 {
		text.Grow(int(answer.ContentLength) + bytes.MinRead)
	}
	if _, err := text.ReadFrom(answer.Body); err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %.300s", answer.Status, text.Bytes())
	}
	return text.Bytes(), nil
}
