package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// typescript is a major of @anthropic-ai/sdk: its calls are made by a Node process,
// see sdk/calls.mjs.
type typescript struct {
	node    *node
	options clientOptions
}

type clientOptions struct {
	BaseURL string            `json:"baseURL"`
	APIKey  string            `json:"apiKey"`
	Headers map[string]string `json:"defaultHeaders,omitempty"`
}

// An object is JSON as the SDK's typed objects are: what it read is what it was sent.
type object json.RawMessage

func (o object) RawJSON() string              { return string(o) }
func (o object) MarshalJSON() ([]byte, error) { return o, nil }

// arguments are named arguments; those that are nil, or zero, are not sent.
type arguments map[string]any

func (a arguments) with(name string, value any) arguments {
	switch v := value.(type) {
	case *string:
		if v == nil {
			return a
		}
	case *int64:
		if v == nil {
			return a
		}
	case map[string]any:
		if v == nil {
			return a
		}
	case string:
		if v == "" {
			return a
		}
	case int64:
		if v == 0 {
			return a
		}
	case bool:
		if !v {
			return a
		}
	case time.Time:
		if v.IsZero() {
			return a
		}
	}
	a[name] = value
	return a
}

func (s typescript) one(ctx context.Context, method string, args ...any) (object, error) {
	result, err := s.node.call(ctx, asked{Client: s.options, Method: method, Args: args})
	return object(result), err
}

// list returns all items of a listing, each read by a function of its type.
func list[T any](ctx context.Context, s typescript, read func(interface{ RawJSON() string }, error) (T, error), method string, args ...any) (all []T, err error) {
	result, err := s.node.call(ctx, asked{Client: s.options, Method: method, Args: args, All: true})
	var items []json.RawMessage
	if err == nil {
		err = json.Unmarshal(result, &items)
	}
	for _, i := range items {
		one, err := read(object(i), nil)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, err
}

func storeArguments(p storeParams) arguments {
	return arguments{}.with("name", p.Name).with("description", p.Description).with("metadata", p.Metadata).with("workspace_id", p.Workspace)
}

func (s typescript) CreateStore(ctx context.Context, p storeParams) (store, error) {
	return readStore(s.one(ctx, "create", storeArguments(p)))
}

func (s typescript) Store(ctx context.Context, id string) (store, error) {
	return readStore(s.one(ctx, "retrieve", id))
}

func (s typescript) UpdateStore(ctx context.Context, id string, p storeParams) (store, error) {
	return readStore(s.one(ctx, "update", id, storeArguments(p)))
}

func (s typescript) Stores(ctx context.Context, q storeQuery) ([]store, error) {
	return list(ctx, s, readStore, "list", arguments{}.with("created_at[gte]", q.From).with("created_at[lte]", q.To).
		with("include_archived", q.IncludeArchived).with("limit", q.Limit))
}

func (s typescript) ArchiveStore(ctx context.Context, id string) (store, error) {
	return readStore(s.one(ctx, "archive", id))
}

func (s typescript) DeleteStore(ctx context.Context, id string) (deleted, error) {
	return readDeleted(s.one(ctx, "delete", id))
}

func memoryArguments(p memoryParams) arguments {
	a := arguments{}.with("path", p.Path).with("content", p.Content).with("view", p.View)
	if p.IfSHA256 != "" {
		a["precondition"] = map[string]string{"type": "content_sha256", "content_sha256": p.IfSHA256}
	}
	return a
}

func (s typescript) CreateMemory(ctx context.Context, store string, p memoryParams) (memory, error) {
	return readMemory(s.one(ctx, "memories.create", store, memoryArguments(p)))
}

func (s typescript) Memory(ctx context.Context, store, id, view string) (memory, error) {
	return readMemory(s.one(ctx, "memories.retrieve", id, arguments{"memory_store_id": store}.with("view", view)))
}

func (s typescript) UpdateMemory(ctx context.Context, store, id string, p memoryParams) (memory, error) {
	return readMemory(s.one(ctx, "memories.update", id, memoryArguments(p).with("memory_store_id", store)))
}

func (s typescript) Memories(ctx context.Context, store string, q memoryQuery) (all []item, err error) {
	memories, err := list(ctx, s, readMemory, "memories.list", store, arguments{}.with("path_prefix", q.PathPrefix).
		with("depth", q.Depth).with("limit", q.Limit).with("view", q.View))
	for _, m := range memories {
		variant := map[string]string{"memory": "Memory", "memory_prefix": "MemoryPrefix"}[m.Type]
		all = append(all, item{m, variant})
	}
	return all, err
}

func (s typescript) DeleteMemory(ctx context.Context, store, id, ifSHA256 string) (deleted, error) {
	return readDeleted(s.one(ctx, "memories.delete", id, arguments{"memory_store_id": store}.with("expected_content_sha256", ifSHA256)))
}

func (s typescript) Versions(ctx context.Context, store string, q versionQuery) ([]version, error) {
	return list(ctx, s, readVersion, "memoryVersions.list", store, arguments{}.with("memory_id", q.Memory).
		with("operation", q.Operation).with("session_id", q.Session).with("api_key_id", q.APIKey).
		with("service_account_id", q.ServiceAccount).with("created_at[gte]", q.From).with("created_at[lte]", q.To).
		with("limit", q.Limit).with("view", q.View))
}

func (s typescript) Version(ctx context.Context, store, id, view string) (version, error) {
	return readVersion(s.one(ctx, "memoryVersions.retrieve", id, arguments{"memory_store_id": store}.with("view", view)))
}

func (s typescript) Redact(ctx context.Context, store, id string) (version, error) {
	return readVersion(s.one(ctx, "memoryVersions.redact", id, arguments{"memory_store_id": store}))
}

// errorClasses are those of the SDK, by status, the older major's first.
var errorClasses = map[int][]string{
	400: {"BadRequestError"}, 401: {"AuthenticationError"}, 403: {"PermissionDeniedError"}, 404: {"NotFoundError"},
	409: {"ConflictError"}, 413: {"APIError", "ContentTooLargeError"},
}

func (s typescript) Failure(err error) (failure, bool) {
	var e *thrown
	if !errors.As(err, &e) || !slices.Contains(errorClasses[e.Status], e.Class) {
		return failure{}, false
	}
	return failure{e.Status, e.Type, e.RequestID, e.WorkspaceID, e.Body}, true
}

func (s typescript) Sync(workdir string, _ *slog.Logger) (memorySync, error) {
	n, err := s.one(context.Background(), "sync.open", arguments{"workdir": workdir, "syncIntervalMs": 5000})
	return typescriptSync{s, object(n)}, err
}

type typescriptSync struct {
	typescript
	n object
}

func (s typescriptSync) Download(ctx context.Context, session string) error {
	_, err := s.one(ctx, "sync.download", s.n, object(session))
	return err
}

func (s typescriptSync) do(ctx context.Context, method string, args ...any) {
	// These methods never throw; if one did, the test would find its work undone.
	_, _ = s.one(ctx, method, args...)
}

func (s typescriptSync) SyncIfDue(ctx context.Context)   { s.do(ctx, "sync.syncIfDue", s.n) }
func (s typescriptSync) FlushWrites(ctx context.Context) { s.do(ctx, "sync.flushWrites", s.n) }
func (s typescriptSync) Finish(ctx context.Context)      { s.do(ctx, "sync.finish", s.n) }
func (s typescriptSync) Dispose()                        { s.do(context.Background(), "sync.dispose", s.n) }
func (s typescriptSync) Wait(d time.Duration)            { s.do(context.Background(), "wait", d.Milliseconds()) }

// A node is a process of calls.mjs. It serves all tests with its major.
type node struct {
	start func() error // once

	mu      sync.Mutex // and of writing to its input
	input   io.Writer
	last    int
	waiting map[int]chan answered
	ended   error
}

// asked and answered are a line each.
type asked struct {
	ID     int           `json:"id"`
	Client clientOptions `json:"client"`
	Method string        `json:"method"`
	Args   []any         `json:"args"`
	All    bool          `json:"all,omitempty"`
}

type answered struct {
	ID     int
	Result json.RawMessage
	Error  *thrown
}

// A thrown is what the SDK threw.
type thrown struct {
	Class, Message, Type, RequestID, WorkspaceID string

	Status int
	Body   answer
}

func (e *thrown) Error() string { return e.Message }

// newNode returns a process with a major of the SDK, by the name it has in
// sdk/package.json, which starts when it is first needed.
func newNode(name string) *node {
	n := &node{waiting: map[int]chan answered{}}
	n.start = sync.OnceValue(func() error {
		if err := installPackages("sdk"); err != nil {
			return err
		}
		cmd := exec.Command("node", "calls.mjs", name)
		cmd.Dir, cmd.Stderr = "sdk", os.Stderr
		output, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if n.input, err = cmd.StdinPipe(); err != nil { // its end, with this process, ends the other
			return err
		}
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("node cannot be started: these tests need Node.js 20 or later, with npm: %w", err)
		}
		go n.listen(output)
		return nil
	})
	return n
}

func (n *node) listen(output io.Reader) {
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var a answered
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			continue // not of calls.mjs
		}
		n.mu.Lock()
		waiting := n.waiting[a.ID]
		delete(n.waiting, a.ID)
		n.mu.Unlock()
		if waiting != nil {
			waiting <- a
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ended = fmt.Errorf("the Node process has ended: %w", errors.Join(lines.Err(), io.ErrUnexpectedEOF))
	for id, waiting := range n.waiting {
		close(waiting)
		delete(n.waiting, id)
	}
}

// call makes a call and returns its result, or what it threw.
func (n *node) call(ctx context.Context, a asked) (json.RawMessage, error) {
	if err := n.start(); err != nil {
		return nil, err
	}
	done, err := n.ask(a)
	if err != nil {
		return nil, err
	}
	select {
	case got, ok := <-done:
		switch {
		case !ok:
			return nil, n.ended
		case got.Error != nil:
			return nil, got.Error
		}
		return got.Result, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (n *node) ask(a asked) (<-chan answered, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ended != nil {
		return nil, n.ended
	}
	n.last++
	a.ID = n.last
	line, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	done := make(chan answered, 1)
	n.waiting[a.ID] = done
	_, err = n.input.Write(append(line, '\n'))
	return done, err
}

// installing is held by who installs packages: tests that run in parallel share folders.
var installing sync.Mutex

// installPackages makes sure that dir/node_modules is what dir/package-lock.json says.
func installPackages(dir string) error {
	installing.Lock()
	defer installing.Unlock()
	wanted, err := lockedPackages(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return err
	}
	if got, err := lockedPackages(filepath.Join(dir, "node_modules", ".package-lock.json")); err == nil && got == wanted {
		return nil
	}
	npm := exec.Command("npm", "ci", "--ignore-scripts")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci in %s: these tests need Node.js 20 or later, with npm: %w\n%s", dir, err, out)
	}
	return nil
}

// lockedPackages returns the packages of a lock file, apart from the top one and from those
// that only some systems need, with their versions.
func lockedPackages(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	var lock struct {
		Packages map[string]struct {
			Version  string
			Optional bool
		}
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return "", err
	}
	delete(lock.Packages, "")
	maps.DeleteFunc(lock.Packages, func(_ string, p struct {
		Version  string
		Optional bool
	}) bool {
		return p.Optional
	})
	return fmt.Sprint(lock.Packages), nil // maps are printed in the order of their keys
}

// The lock files must work with any registry.
func TestLockFilesNameNoRegistry(t *testing.T) {
	for _, dir := range []string{"sdk", "../../examples/typescript", "../../claude/adapters/typescript"} {
		text, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), `"resolved"`) {
			t.Errorf("%s/package-lock.json names a registry", dir)
		}
	}
}
