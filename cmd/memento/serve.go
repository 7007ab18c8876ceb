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
	"memento/cryptstore"
	"memento/internal/reserve"
	"memento/server"

	"github.com/spf13/cobra"
)

func (a *app) serveCommand() *cobra.Command {
	var f *configFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve memories over HTTP",
		Long: `Serve answers Anthropic's Memory Stores API, and more, over HTTP: the official SDKs
work with it once their base URL names it, and programs in any language execute the
memory tool with one request. It runs until it is interrupted; then it finishes what it
has accepted. A second interrupt ends it at once.

The first start makes a key, which may do everything, in a file that only its owner can
read, and says where. "memento --backend http://HOST:PORT" finds it there.

Settings come from flags, from the environment and from one YAML file, in which the
setting of the flag --tls-cert-file is cert_file below tls, and its variable is
MEMENTO_TLS_CERT_FILE; docs/configuration.md lists them all. On SIGHUP, the files of the
certificate, the webhooks and the level of the log are read again.

GET /healthz says whether the process lives, GET /readyz whether it should be sent
requests, both without a key; metrics are on a port of their own.

Exit code 0 means that it was asked to end and everything was finished, 1 that requests
were cut off when their time was over.`,
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
	errs := &syncWriter{w: a.stderr} // the log, and what is said here
	a.stderr, a.serving = errs, true
	return a.withBackend(ctx, func(b memento.Backend) error {
		s, err := server.New(c, server.Deps{Backend: b, Detector: a.detector, Log: errs, Version: build().Version})
		if err != nil {
			return a.reportConfigErrors(err)
		}
		server.LimitMemory()
		key, err := a.firstKey(ctx, b, s.Addresses().Main)
		var noKey error
		if isFull(err) { // what there is can be read all the same
			noKey, err = err, nil
		}
		if err == nil {
			_, encrypted := cryptstore.Of(b)
			err = a.tellServing(s, &c, key, encrypted, noKey)
		}
		if err != nil {
			s.Close()
			return err
		}
		defer a.reloadOnHangup(f, s)()
		err = s.Run(ctx)
		if errors.Is(err, server.ErrCutOff) {
			err = hint(err, "allow more with --shutdown-grace")
		}
		return err
	})
}

// What "serve --json" writes once it listens.
type serverJSON struct {
	Type    string `json:"type"` // "memento_server"
	URL     string `json:"url"`
	Address string `json:"address"`
	Metrics string `json:"metrics_address"` // "" if there are none
	Pprof   string `json:"pprof_address"`   // "" if there is none
	KeyFile string `json:"key_file"`        // that lets the caller in; "" if there is none
}

// tellServing says where the server is, and what to know about it.
func (a *app) tellServing(s *server.Server, c *server.Config, keyFile string, encrypted bool, noKey error) error {
	at := s.Addresses()
	log := s.Logger()
	say := func(format string, args ...any) { a.say("memento: "+format, args...) }
	if c.Log.Format == "json" { // whoever reads the log gets nothing else
		say = func(format string, args ...any) { log.Info(fmt.Sprintf(format, args...)) }
	}
	say("listening on %s", at.URL())
	say("memories are in %s", c.ShownBackend())
	if encrypted {
		say("what is kept is encrypted")
	}
	if at.Metrics != "" {
		say("metrics are on http://%s/metrics", at.Metrics)
	}
	switch {
	case noKey != nil:
		say("warning: there is no key, and none can be made (%v); make room and start the server again", noKey)
	case keyFile != "":
		say("a key that may do everything is in %s", line(keyFile))
	default:
		say(`there are keys already, none of them in a file for this address; "memento keys create", with --backend %s, makes another`, line(c.ShownBackend()))
	}
	if c.Exposed() {
		say("warning: others can reach this address, and without TLS they can read keys and memories on their way; set --tls-cert-file and --tls-key-file, put a proxy with TLS in front, or listen on 127.0.0.1")
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
	return a.out.Flush() // whoever started the program waits for it
}

// firstKey makes the first key of a backend that has none, and returns the file of
// one that works at this address, or "".
func (a *app) firstKey(ctx context.Context, b memento.Backend, address string) (string, error) {
	keeper, ok := b.(memento.KeyKeeper)
	if !ok {
		return "", nil
	}
	file, err := keyFileOf(address)
	if err != nil {
		return "", err
	}
	secret, err := readKeyFile(file)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist):
		secret = ""
	default:
		return "", hint(err, "move the file away, or choose another port")
	}
	any, works, err := a.knownKeys(ctx, keeper, secret)
	switch {
	case err != nil:
		return "", err
	case works:
		return file, nil
	case any:
		return "", nil
	}
	// The file is written first. If the process ends before the key is kept, the
	// next start finds the file and keeps its key. It can also be that of another
	// backend which was served here, and then it is good for both.
	//
	// Of several servers that start on one backend, the ID lets one make the key.
	k, made, err := memento.NewKey(workspace, "first key", memento.RoleAdmin, a.now(), time.Time{})
	if err != nil {
		return "", err
	}
	k.ID = firstKeyID
	ours := false
	if secret == "" {
		secret = made
		err := writeKeyFile(file, secret)
		ours = err == nil
		if errors.Is(err, fs.ErrExist) { // another server on this address was faster
			secret, err = readKeyFile(file)
		}
		if err != nil {
			return "", hint(fmt.Errorf("the first key cannot be written: %w", err), `make the folder writable, or make a key with "memento keys create"`)
		}
	}
	k.Hash, k.Hint = memento.HashSecret(secret), secret[len(secret)-len(k.Hint):]
	err = keeper.AddKey(ctx, k)
	if errors.Is(err, memento.ErrExist) {
		if _, works, err := a.knownKeys(ctx, keeper, secret); err != nil || works {
			return file, err
		}
		if !ours {
			return "", nil
		}
		// Another server has made the first key: the one in the file lets nobody in.
		return "", os.Remove(file)
	}
	if err != nil {
		return "", err
	}
	return file, nil
}

// isFull reports whether err says that a disk is full: that of the storage, or that of the
// file of a key.
func isFull(err error) bool { return errors.Is(err, memento.ErrNoSpace) || reserve.IsFull(err) }

// firstKeyID is that of the key that the first start makes.
const firstKeyID memento.KeyID = "apikey_first"

// knownKeys reports whether a backend has any keys, and whether the secret is that
// of one that lets somebody in.
func (a *app) knownKeys(ctx context.Context, keeper memento.KeyKeeper, secret string) (any, works bool, err error) {
	if secret != "" {
		k, err := keeper.KeyByHash(ctx, memento.HashSecret(secret))
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

// reload reads the configuration again, while a server runs.
func (a *app) reload(f *configFlags, s *server.Server) {
	c, err := a.loadChecked(f)
	if err == nil {
		s.Reload(c)
		return
	}
	text := err.Error()
	if faults, ok := errors.AsType[server.ConfigErrors](err); ok {
		text = strings.ReplaceAll(faults.Error(), "\n", "; ")
	}
	s.Logger().Error("configuration cannot be read again; the old one stays", "error", text)
}

// A syncWriter lets several goroutines write.
type syncWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *syncWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}
