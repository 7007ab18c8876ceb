package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"memento"
	"memento/backend/storeurl"
)

// chosenBackend returns the URL of the selected backend: of --backend, else of
// MEMENTO_BACKEND, else of the profile in use, else of the default SQLite file.
func (a *app) chosenBackend() (string, error) {
	if url := cmp.Or(a.backendURL, os.Getenv("MEMENTO_BACKEND")); url != "" {
		return url, nil
	}
	switch p, name, err := a.usedProfile(); {
	case err != nil:
		return "", err
	case name != "":
		return p.Backend, nil
	}
	dir, err := dataDir()
	if err != nil {
		return "", hint(err, "choose a backend with --backend, for example --backend sqlite:memento.db")
	}
	return storeurl.SQLite(filepath.Join(dir, "memento", "memento.db")), nil
}

// workspace returns the selected workspace, or the default one.
func (a *app) workspace() memento.Workspace {
	return cmp.Or(a.givenWorkspace(), memento.DefaultWorkspace)
}

// givenWorkspace returns the workspace of --workspace or MEMENTO_WORKSPACE; "" for none.
func (a *app) givenWorkspace() memento.Workspace {
	return memento.Workspace(cmp.Or(a.workspaceName, os.Getenv("MEMENTO_WORKSPACE"), a.fromProfile(func(p profile) string { return p.Workspace })))
}

// withBackend opens the selected backend, which must exist, calls do, and closes it.
func (a *app) withBackend(ctx context.Context, do func(memento.Backend) error) error {
	return a.withAccess(ctx, access{}, do)
}

// An access says how to open a backend. The zero value is for commands that read, or that
// change what is there.
type access struct {
	create  bool // create the backend if it does not exist: see creating
	reading bool // nothing is written
	asKept  bool // without keys, return encrypted contents as they are stored
	meaning bool // search by meaning, too, if that is configured
}

// creating is the access of commands that may be the first on a backend.
var creating = access{create: true}

// reading is the access of commands that only read.
var reading = access{reading: true}

// withAccess is withBackend with a choice of access.
func (a *app) withAccess(ctx context.Context, how access, do func(memento.Backend) error) (err error) {
	b, url, err := a.openChosen(ctx, how)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	if how.meaning {
		end, err := a.startMeaning(url, b)
		if err != nil {
			return err
		}
		defer func() { _ = end() }() // vectors can be made again
	}
	return credentialsHint(url, do(b))
}

// openChosen opens the selected backend and returns its URL.
func (a *app) openChosen(ctx context.Context, how access) (b memento.Backend, url string, err error) {
	if url, err = a.chosenBackend(); err != nil {
		return nil, url, err
	}
	e, err := a.encryption(url)
	if err != nil {
		return nil, url, err
	}
	e.access = how
	if b, err = a.open(ctx, url, e); err != nil {
		return nil, url, err
	}
	if err := checkWorkspace(b, a.givenWorkspace()); err != nil {
		return nil, url, errors.Join(err, b.Close())
	}
	return b, url, nil
}

// checkWorkspace returns an error for a workspace that cannot be selected. A server
// determines it by the key. "" selects none.
func checkWorkspace(b memento.Backend, ws memento.Workspace) error {
	if ws == "" {
		return nil
	}
	if err := ws.Check(); err != nil {
		return err
	}
	if server, ok := b.(interface{ Workspace() memento.Workspace }); ok && server.Workspace() != ws {
		return hint(fmt.Errorf("%w: the key for this server belongs to the workspace %q", memento.ErrDenied, server.Workspace()),
			"leave out --workspace, or use a key of that workspace")
	}
	return nil
}

// credentialsHint adds a hint to the ErrDenied of an S3 backend. The default hint for
// ErrDenied is about the API keys of a server.
func credentialsHint(url string, err error) error {
	if scheme, _, _ := strings.Cut(url, ":"); strings.EqualFold(scheme, "s3") && errors.Is(err, memento.ErrDenied) {
		return hint(err, "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the shared credentials file, and their permissions on the bucket")
	}
	return err
}

// open opens the backend at a URL.
func (a *app) open(ctx context.Context, url string, e encryption) (b memento.Backend, err error) {
	var note string
	b, err = storeurl.Open(ctx, url, &storeurl.Options{
		Adopted: func(store memento.StoreID, made []memento.Version) { a.noteAdopted(ctx, b, store, made) },
		Note: func(text string) {
			if note = text; !a.serving { // serve prints it with its warnings
				a.say("note: %s", line(text))
			}
		},
		Key: a.serverKey, UserAgent: "memento/" + strings.Trim(build().Version, "()"),
		Encryption: e.ring, EncryptNames: e.names, Existing: !e.create, Reading: e.reading, AsKept: e.asKept,
	})
	if !e.create && errors.Is(err, memento.ErrNotExist) {
		err = a.missingBackend(url, err)
	}
	if e.ring != nil && errors.Is(err, memento.ErrDecrypt) {
		err = hint(err, `nothing was changed; %s must name the keys the data was encrypted with; to encrypt existing data, use "memento copy"`, cmp.Or(e.flag, "--encryption-keys"))
	}
	if err == nil {
		a.exposed = a.exposedFiles(url)
		if note != "" && a.serving {
			a.exposed = append(a.exposed, note)
		}
		for _, text := range a.exposed {
			if !a.serving {
				a.say("warning: %s", line(text))
			}
		}
	}
	return b, credentialsHint(url, err)
}

// exposedFiles returns warnings about the permissions of what is at a URL, and of the key
// files that were used.
func (a *app) exposedFiles(url string) []string {
	return storeurl.Exposed(url, a.encryptionPath(), cmp.Or(a.usedKeyFile, a.keyFile))
}

// withStore opens the selected store, which must exist, calls do, and closes its backend.
func (a *app) withStore(ctx context.Context, do func(*memento.Store) error) error {
	return a.withStoreBy(ctx, access{}, do)
}

// withReadStore is withStore for commands that only read.
func (a *app) withReadStore(ctx context.Context, do func(*memento.Store) error) error {
	return a.withStoreBy(ctx, reading, do)
}

// withStoreBy is withStore with a choice of access.
func (a *app) withStoreBy(ctx context.Context, how access, do func(*memento.Store) error) error {
	return a.withAccess(ctx, how, func(b memento.Backend) error {
		s, err := a.openExisting(ctx, b)
		if err != nil {
			return err
		}
		return do(s)
	})
}

// withNewStore is withStore for commands that may create what they write to: the backend
// now, the store with its first write.
func (a *app) withNewStore(ctx context.Context, do func(*memento.Store) error) error {
	return a.withAccess(ctx, creating, func(b memento.Backend) error {
		s, err := a.openStore(ctx, b, memento.StoreSpec{})
		if err != nil {
			return err
		}
		return do(s)
	})
}

// openExisting opens the selected store. Errors: ErrNoStore.
func (a *app) openExisting(ctx context.Context, b memento.Backend) (*memento.Store, error) {
	s, err := a.openStore(ctx, b, memento.StoreSpec{})
	if err == nil {
		_, err = s.ID(ctx)
	}
	switch {
	case errors.Is(err, memento.ErrNoStore):
		return nil, a.missingStore(ctx, b, a.chosenStore())
	case errors.Is(err, memento.ErrConflict) && !isStoreID(a.chosenStore()): // it names several
		if _, many := a.findStore(ctx, b, a.chosenStore()); many != nil {
			err = many
		}
	}
	return s, err
}

// noteAdopted prints a note about secrets in files that a user edited directly: such edits
// are not masked.
func (a *app) noteAdopted(ctx context.Context, b memento.Backend, store memento.StoreID, made []memento.Version) {
	s, err := memento.OpenStore(ctx, b, a.workspace(), store, a.storeOptions())
	if err != nil {
		return // the command itself reports the error
	}
	for _, v := range made {
		if orders, err := s.Instructions(ctx, v); err == nil && len(orders) > 0 {
			a.say(`note: %s was edited directly and reads like instructions to a model: %s`, line(string(v.Path)), kindsOf(orders))
		}
		found, err := s.Inspect(ctx, v)
		if err != nil || len(found) == 0 {
			continue
		}
		place := line(string(v.Path))
		if found[0].Line == 0 { // the path itself
			place = string(v.Memory)
		}
		a.say(`note: %s was edited directly and contains sensitive information: %s; "memento scan --fix" removes it`, place, kindsOf(found))
	}
}

// kindsOf lists the kinds of what was found.
func kindsOf(found []memento.FindingLocation) string {
	var kinds []string
	for _, f := range found {
		if !slices.Contains(kinds, f.Kind) {
			kinds = append(kinds, f.Kind)
		}
	}
	return strings.Join(kinds, ", ")
}

// storeOptions returns the options for opening stores.
func (a *app) storeOptions() *memento.StoreOptions {
	o := &memento.StoreOptions{Detector: a.detector}
	if a.meaning != nil {
		o.Searcher = a.meaning
	}
	return o
}

// openStore opens the selected store. If the store does not exist, the first write creates
// it from spec; spec.Name is ignored.
func (a *app) openStore(ctx context.Context, b memento.Backend, spec memento.StoreSpec) (*memento.Store, error) {
	spec.Name = a.chosenStore()
	return a.openNamed(ctx, b, spec)
}

// openNamed opens the store whose name or ID is spec.Name.
func (a *app) openNamed(ctx context.Context, b memento.Backend, spec memento.StoreSpec) (*memento.Store, error) {
	if isStoreID(spec.Name) {
		id, err := a.storeID(ctx, b, spec.Name)
		if err != nil {
			return nil, err
		}
		return memento.OpenStore(ctx, b, a.workspace(), id, a.storeOptions())
	}
	return memento.OpenNamed(b, a.workspace(), spec, a.storeOptions()), nil
}

// chosenStore returns the name or ID of the selected store.
func (a *app) chosenStore() string {
	return cmp.Or(a.storeName, os.Getenv("MEMENTO_STORE"), a.fromProfile(func(p profile) string { return p.Store }), "default")
}

func isStoreID(name string) bool { return strings.HasPrefix(name, "memstore_") }

// dataDir returns the directory for the user's data.
func dataDir() (string, error) {
	home, err := os.UserHomeDir()
	switch runtime.GOOS {
	case "windows":
		if dir := os.Getenv("LocalAppData"); dir != "" {
			return dir, nil
		}
		return "", errors.New("%LocalAppData% is not set")
	case "darwin":
		if err == nil {
			return filepath.Join(home, "Library", "Application Support"), nil
		}
	default:
		// Relative paths in XDG_DATA_HOME must be ignored: XDG Base Directory Specification.
		if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
			return dir, nil
		}
		if err == nil {
			return filepath.Join(home, ".local", "share"), nil
		}
	}
	return "", fmt.Errorf("there is no home directory: %w", err)
}

// person returns the actor for changes made with the command line: the current user.
func person() memento.Actor {
	name := cmp.Or(os.Getenv("USER"), os.Getenv("USERNAME"), "unknown")
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	return memento.Actor{Kind: memento.ActorUser, ID: name}
}
