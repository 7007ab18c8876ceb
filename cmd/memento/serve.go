package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/backend/cryptstore"
	"memento/console"
	"memento/internal/reserve"
	"memento/server"

	"github.com/spf13/cobra"
)

func (a *app) serveCommand() *cobra.Command {
	var f *configFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run an HTTP server",
		Long: `Serve runs an HTTP server with Anthropic's Memory Stores API and additional endpoints.
The official SDKs work with it if their base URL is set to it. Programs in any language
can execute the memory tool with one request. The server runs until it is interrupted;
then it finishes the accepted requests. A second interrupt stops it at once.

The first start creates an admin key in a file that only its owner can read, and prints
the path. "memento --backend http://HOST:PORT" reads the key from this file. With
--first-key-file the file is another: its key is used if the file exists, such as a mounted
secret, else it is written; "none" creates no key. A file that other users can change
is refused. Nothing else needs a home directory if --backend is given.

Settings come from flags, from the environment and from one YAML file. For example, the
flag --tls-cert-file is the setting cert_file in the section tls and the environment
variable MEMENTO_TLS_CERT_FILE; docs/configuration.md lists all settings. SIGHUP reloads
the certificate files, the webhooks and the log level.

GET /healthz is the liveness check, GET /readyz the readiness check; both need no key.
Metrics are served on another port.

The exit code is 0 after a complete shutdown, and 1 if requests were cut off at the end of
the grace period.`,
		Example: `  memento serve
  memento serve --config /etc/memento/memento.yaml
  memento serve --address :8377 --tls-cert-file cert.pem --tls-key-file key.pem
  curl -H "x-api-key: $(cat ~/.local/share/memento/keys/127.0.0.1_8377.key)" http://127.0.0.1:8377/v1/whoami`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serveHTTP(cmd.Context(), f) },
	}
	f = a.addConfigFlags(c)
	return c
}

func (a *app) serveHTTP(ctx context.Context, f *configFlags) error {
	c, err := a.loadChecked(f)
	if err != nil {
		return a.reportConfigErrors(err)
	}
	a.backendURL, a.encryptionFile, a.encryptNames = c.Backend, c.Encryption.KeysFile, c.Encryption.Names
	errs := &syncWriter{w: a.stderr} // shared by the log and by messages
	a.stderr, a.serving = errs, true
	return a.withAccess(ctx, creating, func(b memento.Backend) error {
		_, encrypted := cryptstore.Of(b)
		s, err := server.New(c, server.Deps{Backend: b, Encrypted: encrypted, Detector: a.detector, Log: errs, Version: build().Version})
		if err != nil {
			return a.reportConfigErrors(err)
		}
		server.LimitMemory()
		key, err := a.firstKey(ctx, b, c.FirstKeyFile, s.Addresses().Main)
		noKey, ok := errors.AsType[*noKeyError](err)
		if err == nil || ok { // the server is of use without a first key
			err = a.printServing(s, &c, key, encrypted, noKey)
		}
		if err != nil {
			s.Close()
			return err
		}
		if key != "" {
			if secret, err := readKeyFile(key); err != nil {
				a.say("warning: sessions of the console end with this process: %v", err)
			} else {
				s.KeepConsoleSessions([]byte(secret))
			}
		}
		defer a.reloadOnHangup(f, s)()
		defer watch(ctx, b)()
		err = s.Run(ctx)
		if errors.Is(err, server.ErrCutOff) {
			err = hint(err, "allow more time with --shutdown-grace")
		}
		return err
	})
}

// The output of "serve --json" when the server listens.
type serverJSON struct {
	Type    string `json:"type"` // "memento_server"
	URL     string `json:"url"`
	Address string `json:"address"`
	Metrics string `json:"metrics_address"` // "" for none
	Pprof   string `json:"pprof_address"`   // "" for none
	KeyFile string `json:"key_file"`        // with an admin key; "" for none
}

// printServing prints the addresses of the server and warnings.
func (a *app) printServing(s *server.Server, c *server.Config, keyFile string, encrypted bool, noKey *noKeyError) error {
	at := s.Addresses()
	log := s.Logger()
	say := func(format string, args ...any) { a.say("memento: "+format, args...) }
	if c.Log.Format == "json" { // the log stays pure JSON
		say = func(format string, args ...any) { log.Info(fmt.Sprintf(format, args...)) }
	}
	say("listening on %s", at.URL())
	if c.Console {
		say("console: %s%s", at.URL(), console.Path)
	}
	say("backend: %s", c.ShownBackend())
	if encrypted {
		say("encryption at rest is on")
	}
	if at.Metrics != "" {
		say("metrics: http://%s/metrics", at.Metrics)
	}
	switch {
	case noKey != nil:
		say("warning: there is no API key, and none can be created: %v; %s", noKey.err, noKey.next)
	case keyFile != "":
		say("admin key: %s", line(keyFile))
	case c.FirstKeyFile == server.NoFirstKey:
		say(`no first key is created (--first-key-file none); to create one: memento keys create NAME --role admin --backend %s`, line(c.ShownBackend()))
	default:
		say(`keys exist; the admin key was saved when they were created. To create another: memento keys create NAME --role admin --backend %s`, line(c.ShownBackend()))
	}
	if c.Exposed() {
		say("warning: this address is reachable from other machines without TLS, so keys and memories cross the network unencrypted; set --tls-cert-file and --tls-key-file, use a TLS proxy, or listen on 127.0.0.1")
	}
	for _, text := range a.exposed {
		say("warning: %s", line(text))
	}
	if !a.json {
		return nil
	}
	if err := a.writeJSON(serverJSON{
		Type: "memento_server", URL: at.URL(), Address: at.Main, Metrics: at.Metrics, Pprof: at.Pprof, KeyFile: keyFile,
	}); err != nil {
		return err
	}
	return a.out.Flush() // the parent process waits for it
}

// A noKeyError says why a backend without keys gets no first key. A server runs without:
// its disk can be full, and its callers may have tokens instead.
type noKeyError struct {
	err  error
	next string // what to do
}

func (e *noKeyError) Error() string { return e.err.Error() }
func (e *noKeyError) Unwrap() error { return e.err }

// firstKey creates the first key of a backend without keys, in a file: the given one; or, if
// that is "", the one for the address. It returns the path of the file if the key in it is
// valid, else "".
//
// Errors: a *noKeyError if there is no key, and none could be written to a file;
// memento.ErrInvalid if there is a file with a key that another user could have chosen.
func (a *app) firstKey(ctx context.Context, b memento.Backend, file, address string) (string, error) {
	keeper, ok := b.(apikey.Keeper)
	if !ok || file == server.NoFirstKey {
		return "", nil
	}
	given, noFile := file != "", error(nil)
	if !given {
		file, noFile = keyFileOf(address)
	}
	secret, err := "", noFile
	if noFile == nil {
		secret, err = readKeyFile(file)
	}
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
	case noFile != nil, !given && !errors.Is(err, memento.ErrInvalid): // a home that this user cannot read
		noFile = err
	case given:
		return "", hint(err, "correct --first-key-file")
	default:
		return "", hint(err, "move the file away, or use another port")
	}
	any, works, err := a.knownKeys(ctx, keeper, secret)
	switch {
	case err != nil:
		return "", err
	case works:
		return file, nil
	case any:
		return "", nil
	case noFile != nil:
		return "", &noKeyError{noFile, firstKeyHint}
	}
	// The file is written first: if the process ends before the key is stored, the next
	// start finds the file and stores its key. The file can also be from another backend
	// that was served at this address; then the key works for both.
	//
	// The fixed ID makes sure that only one of several servers stores a first key.
	k, made, err := apikey.New(memento.DefaultWorkspace, "first key", apikey.RoleAdmin, a.now(), time.Time{})
	if err != nil {
		return "", err
	}
	k.ID = firstKeyID
	created := false
	if secret == "" {
		secret = made
		err := writeKeyFile(file, secret)
		created = err == nil
		if errors.Is(err, fs.ErrExist) { // another server on this address created it
			secret, err = readKeyFile(file)
		}
		switch {
		case err == nil:
		case isFull(err):
			return "", &noKeyError{err, "free some space and restart the server"}
		case given:
			return "", hint(fmt.Errorf("the first key cannot be written to a file: %w", err), "make the folder writable, or correct --first-key-file")
		default:
			return "", &noKeyError{err, firstKeyHint}
		}
	}
	if reason, next := keyDistrust(file, !given); !created && reason != "" {
		return "", hint(fmt.Errorf("%w: the key in a file is not made the first key: %s", memento.ErrInvalid, reason), "%s; else remove the file", next)
	}
	k.Hash, k.Hint = apikey.HashSecret(secret), secret[len(secret)-len(k.Hint):]
	err = keeper.AddKey(ctx, k)
	if errors.Is(err, memento.ErrExist) {
		if _, works, err := a.knownKeys(ctx, keeper, secret); err != nil || works {
			return file, err
		}
		if !created {
			return "", nil
		}
		// Another server stored the first key. The key in the file is not valid.
		return "", os.Remove(file)
	}
	if isFull(err) {
		return "", &noKeyError{err, "free some space and restart the server"}
	}
	if err != nil {
		return "", err
	}
	return file, nil
}

// firstKeyHint says how a server gets its first key without a home directory.
const firstKeyHint = `name a file for it with --first-key-file, or create a key with "memento keys create"`

// isFull reports whether err means that a disk is full: the one of the storage, or the one
// of the key file.
func isFull(err error) bool { return errors.Is(err, memento.ErrNoSpace) || reserve.IsFull(err) }

// firstKeyID is the ID of the key that the first start creates.
const firstKeyID memento.KeyID = "apikey_first"

// knownKeys reports whether a backend has any keys, and whether the secret belongs to an
// active one.
func (a *app) knownKeys(ctx context.Context, keeper apikey.Keeper, secret string) (any, works bool, err error) {
	if secret != "" {
		k, err := keeper.KeyByHash(ctx, apikey.HashSecret(secret))
		switch {
		case err == nil:
			return true, k.Active(a.now()), nil
		case !errors.Is(err, memento.ErrNotExist):
			return false, false, err
		}
	}
	for _, err := range keeper.ListKeys(ctx, "") {
		return err == nil, false, err
	}
	return false, false, nil
}

// reload reloads the configuration of a running server.
func (a *app) reload(f *configFlags, s *server.Server) {
	c, err := a.loadChecked(f)
	if err == nil {
		s.Reload(c)
		return
	}
	text := err.Error()
	if errs, ok := errors.AsType[server.ConfigErrors](err); ok {
		text = strings.ReplaceAll(errs.Error(), "\n", "; ")
	}
	s.Logger().Error("configuration reload failed; the old configuration stays active", "error", text)
}

// A syncWriter is a writer that is safe for concurrent use.
type syncWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *syncWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}
