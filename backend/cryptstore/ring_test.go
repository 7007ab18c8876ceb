package cryptstore_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"memento"
	"memento/backend/cryptstore"
	"memento/backend/memstore"

	"github.com/tink-crypto/tink-go/v2/testing/fakekms"
)

// secretsOf returns what must be in no error: the keys themselves.
func secretsOf(t *testing.T, rings ...*cryptstore.Keys) (secrets []string) {
	t.Helper()
	for _, ring := range rings {
		text, err := ring.Text()
		if err != nil {
			t.Fatal(err)
		}
		var set struct {
			Key []struct{ KeyData struct{ Value string } }
		}
		if err := json.Unmarshal([]byte(text), &set); err != nil || len(set.Key) == 0 {
			t.Fatalf("the text is no JSON: %v", err)
		}
		for _, k := range set.Key {
			raw, err := base64.StdEncoding.DecodeString(k.KeyData.Value)
			if err != nil {
				t.Fatal(err)
			}
			secrets = append(secrets, k.KeyData.Value, string(raw), k.KeyData.Value[8:28], fmt.Sprintf("%x", raw), fmt.Sprint(raw))
		}
	}
	return secrets
}

func tellsNothing(t *testing.T, err error, secrets []string) {
	t.Helper()
	for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("an error tells a key: %s", text)
			}
		}
	}
}

func TestKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	ring, err := cryptstore.NewKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	if _, err := cryptstore.NewKeyFile(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made twice: %v", err)
	}
	wrapped, id, err := ring.Wrap(t.Context(), []byte("secret"), []byte("about"))
	if err != nil || id != ring.Primary() {
		t.Fatal(id, err)
	}
	var second string
	changed, err := cryptstore.UpdateKeyFile(path, func(k *cryptstore.Keys) (next *cryptstore.Keys, err error) {
		next, second, err = k.Add(true)
		return next, err
	})
	if err != nil || changed.Primary() != second || !slices.Equal(changed.IDs(), []string{id, second}) {
		t.Fatalf("%v, %v, want %s and %s", changed, err, id, second)
	}
	again, err := cryptstore.OpenKeyFile(path)
	if err != nil || again.Primary() != second {
		t.Fatal(again, err)
	}
	if got, err := again.Unwrap(t.Context(), id, wrapped, []byte("about")); err != nil || string(got) != "secret" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := again.Unwrap(t.Context(), id, wrapped, []byte("other")); !errors.Is(err, memento.ErrDecrypt) {
		t.Errorf("about something else: %v", err)
	}
	if _, err := again.Remove(second); !errors.Is(err, memento.ErrInvalid) {
		t.Errorf("the primary key was removed: %v", err)
	}
	without, err := again.Remove(id)
	if err != nil || slices.Contains(without.IDs(), id) {
		t.Fatal(without, err)
	}
	_, err = without.Unwrap(t.Context(), id, wrapped, []byte("about"))
	if !errors.Is(err, memento.ErrDecrypt) || !strings.Contains(err.Error(), id) {
		t.Errorf("without the key: %v", err)
	}
	tellsNothing(t, err, secretsOf(t, again, ring))
	if names, err := os.ReadDir(filepath.Dir(path)); err != nil || len(names) != 1 {
		t.Errorf("left in the folder: %v, %v", names, err)
	}
	if s := fmt.Sprintf("%v %+v %#v %s", again, again, again, again); !strings.Contains(s, second) {
		t.Errorf("shown as %s", s)
	} else {
		tellsNothing(t, errors.New(s), secretsOf(t, again))
	}
	oneLine, err := again.Text()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{oneLine, "\n " + base64.StdEncoding.EncodeToString([]byte(oneLine)) + "\n"} {
		if k, err := cryptstore.ParseKeys(text); err != nil || k.Primary() != second {
			t.Errorf("parsed: %v, %v", k, err)
		}
	}
}

func TestBadKeyFiles(t *testing.T) {
	dir := t.TempDir()
	good := newRing(t)
	text, err := good.Text()
	if err != nil {
		t.Fatal(err)
	}
	secrets := secretsOf(t, good)
	for what, bad := range map[string]string{
		"empty": "", "no JSON": "{" + text, "cut off": text[:len(text)-20], "another thing": `{"a":1}`, "no keys": `{"primaryKeyId":1,"key":[]}`,
		"base64 of nothing": base64.StdEncoding.EncodeToString([]byte("nothing")), "the key alone": secrets[0],
		"another type": strings.ReplaceAll(text, "AesGcmKey", "HmacKey"), "no primary": strings.Replace(text, `"primaryKeyId":`, `"primaryKeyId":1`, 1),
	} {
		path := filepath.Join(dir, "bad")
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := cryptstore.OpenKeyFile(path)
		if !errors.Is(err, memento.ErrInvalid) || strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", what, err)
			continue
		}
		tellsNothing(t, err, secrets)
	}
	path := filepath.Join(dir, "open")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660, 0o777} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := cryptstore.OpenKeyFile(path); !errors.Is(err, memento.ErrDenied) || strings.Contains(err.Error(), dir) {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
	for _, mode := range []os.FileMode{0o600, 0o400} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := cryptstore.OpenKeyFile(path); err != nil {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
	if _, err := cryptstore.OpenKeyFile(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), dir) {
		t.Errorf("no file: %v", err)
	}
	if _, err := cryptstore.OpenKeyFile(dir); !errors.Is(err, memento.ErrInvalid) {
		t.Errorf("a folder: %v", err)
	}
}

// Opening with the wrong keys fails, says so, and writes nothing.
func TestWrongKeys(t *testing.T) {
	inner := memstore.New(nil)
	defer inner.Close()
	ring, other := newRing(t), newRing(t)
	b := wrap(t, inner, ring, nil)
	store := newStore(t, b, workspace)
	apply(t, b, store, memento.Put{Path: "/a", Content: "text"})
	before, err := inner.GetStore(t.Context(), workspace, store)
	if err != nil {
		t.Fatal(err)
	}
	_, err = cryptstore.Wrap(t.Context(), inner, other, nil)
	if !errors.Is(err, memento.ErrDecrypt) || !strings.Contains(err.Error(), ring.Primary()) || !strings.Contains(err.Error(), string(store)) {
		t.Errorf("with another ring: %v", err)
	}
	tellsNothing(t, err, secretsOf(t, ring, other))
	if after, err := inner.GetStore(t.Context(), workspace, store); err != nil || after.Envelope != before.Envelope || !after.UpdatedAt.Equal(before.UpdatedAt) {
		t.Errorf("changed to %+v, %v", after, err)
	}

	// A store that was made without encryption.
	plain := memstore.New(nil)
	defer plain.Close()
	id := newStore(t, plain, workspace)
	if _, err := cryptstore.Wrap(t.Context(), plain, ring, nil); !errors.Is(err, memento.ErrDecrypt) || !strings.Contains(err.Error(), "memento copy") {
		t.Errorf("over a store without encryption: %v", err)
	}
	if info, err := plain.GetStore(t.Context(), workspace, id); err != nil || info.Envelope != "" {
		t.Errorf("changed to %+v, %v", info, err)
	}
	// One that came later is refused when it is used, and can still be removed.
	id = newStore(t, inner, workspace)
	for what, err := range map[string]error{
		"get":    second(b.Get(t.Context(), id, memento.ByPath("/a"))),
		"apply":  second(b.Apply(t.Context(), id, ann, []memento.Change{memento.Put{Path: "/a", Content: "plain"}})),
		"import": b.Import(t.Context(), id, nil),
	} {
		if !errors.Is(err, memento.ErrDecrypt) {
			t.Errorf("%s of a store without encryption: %v", what, err)
		}
	}
	if err := b.DeleteStore(t.Context(), workspace, id); err != nil {
		t.Error(err)
	}
	if _, err := cryptstore.Wrap(t.Context(), b, ring, nil); !errors.Is(err, memento.ErrUnsupported) {
		t.Errorf("wrapped twice: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// A key service over HTTP, with keys of this process.
type service struct {
	keys    map[string]*cryptstore.Keys
	calls   atomic.Int64
	refuses atomic.Bool
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.calls.Add(1)
	key := s.keys[r.URL.Query().Get("key")]
	if key == nil || s.refuses.Load() {
		http.Error(w, "no", http.StatusForbidden)
		return
	}
	var data []byte
	err := json.NewDecoder(r.Body).Decode(&data)
	if err == nil && r.URL.Path == "/encrypt" {
		data, _, err = key.Wrap(r.Context(), data, nil)
	} else if err == nil {
		data, err = key.Unwrap(r.Context(), key.Primary(), data, nil)
	}
	if err != nil {
		http.Error(w, "bad", http.StatusBadRequest)
		return
	}
	json.NewEncoder(w).Encode(data)
}

// client is the other side.
type client struct{ url string }

func (c client) call(ctx context.Context, op, key string, data []byte) (answer []byte, err error) {
	body, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, "POST", c.url+"/"+op+"?key="+key, strings.NewReader(string(body)))
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, fmt.Errorf("%w: the key service is not reachable", memento.ErrUnavailable)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the key service says %s", resp.Status)
	}
	err = json.NewDecoder(resp.Body).Decode(&answer)
	return answer, err
}

func (c client) Encrypt(ctx context.Context, key string, secret []byte) ([]byte, error) {
	if len(secret) > 256 {
		return nil, errors.New("too much for a key service")
	}
	return c.call(ctx, "encrypt", key, secret)
}

func (c client) Decrypt(ctx context.Context, key string, encrypted []byte) ([]byte, error) {
	return c.call(ctx, "decrypt", key, encrypted)
}

func TestKeyService(t *testing.T) {
	s := &service{keys: map[string]*cryptstore.Keys{"old": newRing(t), "new": newRing(t)}}
	server := httptest.NewServer(s)
	defer http.DefaultClient.CloseIdleConnections()
	defer server.Close()
	ring := func(primary string, others ...string) *cryptstore.KMSRing {
		r, err := cryptstore.NewKMSRing(client{server.URL}, primary, others...)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	inner := memstore.New(nil)
	defer inner.Close()
	b := wrap(t, inner, ring("old"), nil)
	store := newStore(t, b, workspace)
	before := s.calls.Load()
	apply(t, b, store, memento.Put{Path: "/a", Content: "text"})
	for range 10 {
		holds(t, b, store, "/a", "text")
	}
	if n := s.calls.Load() - before; n > 1 {
		t.Errorf("the service was asked %d times for one store", n)
	}
	if _, err := cryptstore.Wrap(t.Context(), inner, ring("new"), nil); !errors.Is(err, memento.ErrDecrypt) {
		t.Errorf("without the key: %v", err)
	}
	next := wrap(t, inner, ring("new", "old"), nil)
	c, _ := cryptstore.Of(next)
	if done, err := c.Rotate(t.Context(), nil); err != nil || done.Rewrapped != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	last := wrap(t, inner, ring("new"), nil)
	holds(t, last, store, "/a", "text")

	s.refuses.Store(true)
	if _, err := cryptstore.Wrap(t.Context(), inner, ring("new"), nil); !errors.Is(err, memento.ErrDecrypt) {
		t.Errorf("a service that refuses: %v", err)
	}
	holds(t, last, store, "/a", "text") // keys in use need no service
	server.Close()
	if _, err := cryptstore.Wrap(t.Context(), inner, ring("new"), nil); !errors.Is(err, memento.ErrUnavailable) || errors.Is(err, memento.ErrDecrypt) {
		t.Errorf("a service that does not answer: %v", err)
	}
	if _, err := last.CreateStore(t.Context(), workspace, memento.StoreSpec{Name: "new"}); !errors.Is(err, memento.ErrUnavailable) {
		t.Errorf("a new store without the service: %v", err)
	}
	if _, err := cryptstore.NewKMSRing(client{}, ""); !errors.Is(err, memento.ErrInvalid) {
		t.Errorf("no key: %v", err)
	}
}

func TestTinkClient(t *testing.T) {
	uri, err := fakekms.NewKeyURI()
	if err != nil {
		t.Fatal(err)
	}
	tink, err := fakekms.NewClient(uri)
	if err != nil {
		t.Fatal(err)
	}
	ring, err := cryptstore.NewKMSRing(cryptstore.TinkKMS(tink), uri)
	if err != nil {
		t.Fatal(err)
	}
	inner := memstore.New(nil)
	defer inner.Close()
	b := wrap(t, inner, ring, &cryptstore.Options{EncryptNames: true})
	store := newStore(t, b, workspace)
	apply(t, b, store, memento.Put{Path: "/a", Content: "text"})
	holds(t, wrap(t, inner, ring, nil), store, "/a", "text")
	other, err := cryptstore.NewKMSRing(cryptstore.TinkKMS(tink), "fake-kms://other", uri)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := cryptstore.Wrap(t.Context(), inner, other, nil); err != nil {
		t.Error(err)
	} else if _, err := b.CreateStore(t.Context(), workspace, memento.StoreSpec{Name: "x"}); err == nil {
		t.Error("a store was made by a key that the service does not have")
	}
}

// The file that a link leads to is replaced, not the link.
func TestLinkedKeyFile(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "keys.json"), filepath.Join(dir, "link")
	if _, err := cryptstore.NewKeyFile(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	more, err := cryptstore.UpdateKeyFile(link, func(k *cryptstore.Keys) (*cryptstore.Keys, error) {
		k, _, err := k.Add(true)
		return k, err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, link} {
		if k, err := cryptstore.OpenKeyFile(path); err != nil || k.Primary() != more.Primary() {
			t.Errorf("%s has %v, %v, want %v", filepath.Base(path), k, err, more)
		}
	}
}

// A network fault is no fault of the keys, and its addresses are nobody's business,
// whether or not the client of the service says so.
func TestKeyServiceOutOfReach(t *testing.T) {
	fault := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 8200}, Err: errors.New("connection refused")}
	ring, err := cryptstore.NewKMSRing(unreachable{fault}, "key")
	if err != nil {
		t.Fatal(err)
	}
	_, _, wrapping := ring.Wrap(t.Context(), []byte("secret"), nil)
	good := newRing(t)
	near, err := cryptstore.NewKMSRing(local{good}, "key")
	if err != nil {
		t.Fatal(err)
	}
	wrapped, _, err := near.Wrap(t.Context(), []byte("secret"), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, unwrapping := ring.Unwrap(t.Context(), "key", wrapped, nil)
	for what, err := range map[string]error{"wrap": wrapping, "unwrap": unwrapping} {
		if !errors.Is(err, memento.ErrUnavailable) || errors.Is(err, memento.ErrDecrypt) || strings.Contains(err.Error(), "10.1.2.3") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

type unreachable struct{ err error }

func (u unreachable) Encrypt(context.Context, string, []byte) ([]byte, error) { return nil, u.err }
func (u unreachable) Decrypt(context.Context, string, []byte) ([]byte, error) { return nil, u.err }

type local struct{ keys *cryptstore.Keys }

func (l local) Encrypt(ctx context.Context, _ string, secret []byte) ([]byte, error) {
	wrapped, _, err := l.keys.Wrap(ctx, secret, nil)
	return wrapped, err
}

func (l local) Decrypt(ctx context.Context, _ string, wrapped []byte) ([]byte, error) {
	return l.keys.Unwrap(ctx, l.keys.Primary(), wrapped, nil)
}
