package cryptstore

import (
	"errors"
	"strings"
	"testing"
	"time"

	"memento"
)

func testKeys(t testing.TB, names bool) *keys {
	t.Helper()
	ring, err := NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSecrets(names, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	info := memento.StoreInfo{ID: "memstore_test", Workspace: "test"}
	if info.Envelope, err = wrap(t.Context(), ring, info.Workspace, info.ID, s); err != nil {
		t.Fatal(err)
	}
	k, err := unwrap(t.Context(), ring, info.Workspace, info.ID, info.Envelope)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestDigest(t *testing.T) {
	k, other := testKeys(t, false), testKeys(t, false)
	seen := map[string]bool{}
	for _, text := range []string{"", "a", "b", strings.Repeat("x", 5000)} {
		hash := memento.HashContent(text)
		d := k.digest(hash)
		if len(d) != 64 || d == hash || d != k.digest(hash) || k.hash(d) != hash || seen[d] || other.digest(hash) == d {
			t.Errorf("%.10q: digest %s of %s", text, d, hash)
		}
		seen[d] = true
	}
	for _, bad := range []string{"", "x", strings.Repeat("0", 63), strings.Repeat("A", 64), strings.Repeat("0", 66)} {
		if d := k.digest(bad); len(d) == 64 {
			t.Errorf("%q has the digest %s", bad, d)
		}
	}
	if h := k.hash("no hash"); h != "" {
		t.Errorf("no digest is of %q", h)
	}
}

// The associated data of different things is different, whatever they are called.
func TestAbout(t *testing.T) {
	if string(associatedData("x", "ab", "c")) == string(associatedData("x", "a", "bc")) || string(associatedData("x", "a")) == string(associatedData("x", "a", "")) {
		t.Error("two things look the same")
	}
	k := testKeys(t, false)
	if string(k.textAD("mem_a", "memver_b")) == string(k.textAD("mem_amemver_", "b")) {
		t.Error("two versions look the same")
	}
}

func TestSealAndOpen(t *testing.T) {
	k := testKeys(t, false)
	for _, version := range []memento.VersionID{"memver_1", "an:odd:one", ""} {
		for _, text := range []string{"", "text", "zwei\nZeilen ü\x00", strings.Repeat("x", 200_000)} {
			kept, err := k.seal("mem_1", version, text)
			if err != nil || len(text) > 9 && strings.Contains(kept, text[:9]) {
				t.Fatalf("%.20q: %.40q, %v", text, kept, err)
			}
			digest := k.digest(memento.HashContent(text))
			got, hash, by, err := k.decryptText("mem_1", kept, digest, int64(len(text)))
			if err != nil || got != text || hash != memento.HashContent(text) || by != version {
				t.Errorf("%.20q: %.20q %s %s, %v", text, got, hash, by, err)
			}
			if got, _, _, err := k.decryptText("mem_2", kept, digest, int64(len(text))); !errors.Is(err, memento.ErrDecrypt) || got != "" {
				t.Errorf("of another memory: %q, %v", got, err)
			}
			if again, err := k.seal("mem_1", version, text); err != nil || again == kept {
				t.Errorf("sealed twice, it is the same (%v)", err)
			}
		}
	}
}

// Whatever is kept, opening it gives what was sealed or ErrDecrypt.
func FuzzOpen(f *testing.F) {
	k := testKeys(f, false)
	const text = "what was sealed"
	good, err := k.seal("mem_1", "memver_1", text)
	if err != nil {
		f.Fatal(err)
	}
	digest := k.digest(memento.HashContent(text))
	f.Add("", digest, int64(0))
	f.Add(good, digest, int64(len(text)))
	f.Add(good+"=", digest, int64(len(text)))
	f.Add(good+"\n", digest, int64(len(text)))
	f.Add(good[:len(good)-1], digest, int64(len(text)))
	f.Add("memento-sealed:", digest, int64(1))
	f.Add("memento-sealed:1", "", int64(1))
	f.Add("memento-sealed:1:", "x", int64(1))
	f.Add("memento-sealed:1::", digest, int64(-1))
	f.Add("memento-sealed:2:memver_1:AAAA", digest, int64(1))
	f.Fuzz(func(t *testing.T, kept, d string, size int64) {
		got, _, by, err := k.decryptText("mem_1", kept, d, size)
		switch {
		case err == nil && (kept != good || got != text || by != "memver_1" || size != int64(len(text)) || !strings.EqualFold(d, digest)):
			t.Errorf("%q opens as %q of %q", kept, got, by)
		case err != nil && (!errors.Is(err, memento.ErrDecrypt) || got != "" || by != ""):
			t.Errorf("%q: %q, %q, %v", kept, got, by, err)
		}
	})
}

func TestNames(t *testing.T) {
	k, clear := testKeys(t, true), testKeys(t, false)
	for _, p := range []memento.Path{"/", "", "/a", "/A", "/.hidden/名/b c", "/node_modules/x", memento.Path("/" + strings.Repeat("x", 143))} {
		kept, err := k.encryptPath(p)
		if err != nil {
			t.Errorf("%s: %v", p, err)
			continue
		}
		if back, err := k.decryptPath(kept); err != nil || back != p {
			t.Errorf("%s is kept as %s, which is %s, %v", p, kept, back, err)
		}
		if p == "/" || p == "" {
			continue
		}
		_, err = memento.ParsePath(string(kept))
		if err != nil || kept == p || strings.ToLower(string(kept)) != string(kept) || kept.Depth() != p.Depth() || len(kept.Base()) > 255 {
			t.Errorf("%s is kept as %s, %v", p, kept, err)
		}
		if same, err := clear.encryptPath(p); err != nil || same != p {
			t.Errorf("without encrypted names, %s is kept as %s, %v", p, same, err)
		}
		for _, bad := range []memento.Path{kept + "0", kept[:len(kept)-1], memento.Path(strings.ToUpper(string(kept))), "/x", kept + "/x"} {
			if got, err := k.decryptPath(bad); !errors.Is(err, memento.ErrDecrypt) {
				t.Errorf("%s is %s, %v", bad, got, err)
			}
		}
	}
	a, _ := k.encryptPath("/dir/a")
	b, _ := k.encryptPath("/other/a")
	if dir, _ := k.encryptPath("/dir"); a.Base() != b.Base() || a.Parent() != dir {
		t.Errorf("directories cannot be moved: %s, %s in %s", a, b, dir)
	}
	long := memento.Path("/" + strings.Repeat("x", 700))
	if _, err := k.encryptPath(long); !errors.Is(err, memento.ErrInvalidPath) || !strings.Contains(err.Error(), "shorter") {
		t.Errorf("a long one: %v", err)
	}
	if got := k.encryptPathForLookup(long); got != long {
		t.Errorf("it is looked for at %s", got)
	}
	for _, bad := range []memento.Path{"x", "/a//b", "/..", "/\xff"} {
		if kept, err := k.encryptPath(bad); err != nil || kept != bad {
			t.Errorf("%q is kept as %q, %v: the backend should say what is wrong with it", bad, kept, err)
		}
	}
}
