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

// A serving is memento as programs in any language use it over a network: one
// `memento serve`, and a request for each call. Each lane has a connection.
type serving struct {
	file   string // of the store
	cmd    *exec.Cmd
	url    string
	key    string
	client *http.Client
	store  string // whose tool is called
}

// startServing starts a server on a file that holds the default store.
func startServing(ctx context.Context, binary, file string) (*serving, error) {
	s, err := startServer(ctx, binary, file)
	if err != nil {
		return nil, err
	}
	var page struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	err = s.get(ctx, "/v1/memory_stores?name=default", &page)
	if err == nil && len(page.Data) != 1 {
		err = fmt.Errorf("memento serve has %d stores named default", len(page.Data))
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.store = page.Data[0].ID
	return s, nil
}

// startServer starts a server, and waits until it listens.
func startServer(ctx context.Context, binary, file string) (*serving, error) {
	cmd := exec.CommandContext(ctx, binary, "serve", "--backend", "sqlite:"+file, "--json",
		"--address", "127.0.0.1:0", "--metrics", "off", "--log-level", "warn")
	cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+file+".data") // where the key goes
	var said bytes.Buffer                                         // by then, or why it does not start
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &serving{file: file, cmd: cmd, client: newClient()}
	var at struct {
		URL     string `json:"url"`
		KeyFile string `json:"key_file"`
	}
	err = json.NewDecoder(bufio.NewReader(out)).Decode(&at)
	if err == nil {
		var key []byte
		key, err = os.ReadFile(at.KeyFile)
		s.url, s.key = at.URL, strings.TrimSpace(string(key))
	}
	if err != nil {
		closed := s.close() // before what it said is read
		return nil, errors.Join(fmt.Errorf("memento serve does not start: %w: %s", err, said.String()), closed)
	}
	return s, nil
}

// newClient returns a client with a connection for each caller.
func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}
}

func (s *serving) replay(ctx context.Context, file string, atLeast time.Duration) (measure, error) {
	return replayLanes(file, atLeast, func(inputs [][]byte) error {
		for _, in := range inputs {
			if err := s.call(ctx, s.store, in); err != nil {
				return err
			}
		}
		return nil
	})
}

// call executes one call in a store, and decodes its answer, as any caller must.
func (s *serving) call(ctx context.Context, store string, in []byte) error {
	answer, err := post(ctx, s.client, s.url+"/v1/memory_stores/"+store+"/tool", s.key, in)
	if err != nil {
		return fmt.Errorf("memento serve: %w", err)
	}
	var result struct {
		Content string `json:"content"`
		IsError bool   `json:"is_error"`
	}
	if err := json.Unmarshal(answer, &result); err != nil {
		return fmt.Errorf("memento serve answered %.200q: %w", answer, err)
	}
	if result.IsError {
		return fmt.Errorf("memento serve refused %.200s: %s", in, result.Content)
	}
	return nil
}

// post sends a body and returns the answer's.
func post(ctx context.Context, client *http.Client, url, key string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	return send(client, r, key)
}

func send(client *http.Client, r *http.Request, key string) ([]byte, error) {
	r.Header.Set("X-Api-Key", key)
	answer, err := client.Do(r)
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

// get reads an answer in JSON.
func (s *serving) get(ctx context.Context, path string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return err
	}
	text, err := send(s.client, r, s.key)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func (s *serving) settle(ctx context.Context) (time.Duration, error) {
	return besides(ctx, s.file, (*library).settle)
}

func (s *serving) notes(ctx context.Context) (map[string]string, error) {
	return besides(ctx, s.file, (*library).notes)
}

// close asks the server to end, and waits for it.
func (s *serving) close() error {
	s.client.CloseIdleConnections()
	_ = s.cmd.Process.Signal(os.Interrupt)
	return s.cmd.Wait()
}
