package archive_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/memstore"
	"memento/exchange/archive"
	"memento/sensitive"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// token is a fake secret, which no file has in one piece.
const token = "ghp" + "_" + "k9XvQ2mZr7TbLw4YcNd8HsJfGp3ReUa6ViB1"

// with returns a new store with settings.
func with(t testing.TB, settings memento.Settings) *memento.Store {
	t.Helper()
	b := memstore.New(nil)
	t.Cleanup(func() { b.Close() })
	return memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: "source", Settings: &settings},
		&memento.StoreOptions{Detector: sensitive.Default()})
}

func load(t testing.TB, data []byte) *archive.Archive {
	t.Helper()
	a, err := archive.Load(t.Context(), bytes.NewReader(data), nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A store made from an archive has the settings of the one that was written, and
// what was read-only does not keep it from being filled.
func TestSettings(t *testing.T) {
	settings := memento.Settings{
		Sensitive: memento.Sensitive{
			Mode: memento.Reject, Personal: true, Instructions: memento.RejectInstructions,
			Allow: []string{"a"}, AllowPatterns: []string{"b+"}, AllowPaths: []memento.Pattern{"/c"},
		},
		Expiry:    memento.Expiry{After: 90 * 24 * time.Hour, Keep: []memento.Pattern{"*.keep"}},
		Retention: memento.Retention{Age: memento.Forever, Versions: 3},
	}
	b := memstore.New(nil)
	defer b.Close()
	opts := &memento.StoreOptions{Detector: sensitive.Default()}
	source := memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: "source", Settings: &settings}, opts)
	apply(t, source, memento.Put{Path: "/rules/law.md", Content: "law"})
	id, err := source.ID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	protected := settings
	protected.ReadOnly = []memento.Pattern{"/rules"}
	if _, err := b.UpdateStore(t.Context(), memento.DefaultWorkspace, id, memento.StoreUpdate{Settings: &protected}); err != nil {
		t.Fatal(err)
	}

	a := load(t, export(t, source, nil))
	spec := a.Spec()
	if diff := cmp.Diff(&settings, spec.Settings); diff != "" {
		t.Errorf("the settings differ:\n%s", diff)
	}
	if diff := cmp.Diff(protected.ReadOnly, a.ReadOnly()); diff != "" {
		t.Errorf("what is read-only differs:\n%s", diff)
	}
	spec.Name = "copy"
	if _, err := a.Import(t.Context(), memento.OpenNamed(b, memento.DefaultWorkspace, spec, opts), ana); err != nil {
		t.Errorf("Import: %v", err)
	}
	// Into the source itself, nothing is imported.
	a, err = archive.Load(t.Context(), bytes.NewReader(export(t, source, nil)), &archive.ReadOptions{ContentsOnly: true, Overwrite: true})
	if err != nil {
		t.Fatal(err)
	}
	full := with(t, protected)
	if _, err := a.Import(t.Context(), full, ana); !errors.Is(err, memento.ErrProtected) {
		t.Errorf("Import over what is read-only: %v; want ErrProtected", err)
	}
}

// rewrite replaces a part of the manifest.
func rewrite(t testing.TB, data []byte, old, replacement string) []byte {
	t.Helper()
	entries := unpack(t, data)
	if !strings.Contains(entries[0].data, old) {
		t.Fatalf("the manifest %s has no %s", entries[0].data, old)
	}
	entries[0].data = strings.Replace(entries[0].data, old, replacement, 1)
	return pack(t, entries)
}

const settingsText = `,"settings":{"sensitive":{"mode":"mask"},"expiry":{"after":"0s"},"retention":{"age":"720h0m0s","versions":10}}`

// What a manifest does not say is as it is by default; what no store can have is refused.
func TestSettingsOfManifest(t *testing.T) {
	data := export(t, lived(t), nil)
	short := memento.DefaultSettings()
	short.Retention.Versions = 5
	for text, want := range map[string]memento.Settings{
		"":                 memento.DefaultSettings(),
		`,"settings":{}`:   memento.DefaultSettings(),
		`,"settings":null`: memento.DefaultSettings(),
		`,"settings":{"retention":{"age":"720h","versions":5}}`: short,
		`,"settings":{"sensitive":{"mode":"off"}}`:              memento.DefaultSettings(),
	} {
		a := load(t, rewrite(t, data, settingsText, text))
		if diff := cmp.Diff(&want, a.Spec().Settings); diff != "" {
			t.Errorf("%s: the settings differ:\n%s", text, diff)
		}
		if isOff := strings.Contains(text, "off"); a.SensitiveOff() != isOff {
			t.Errorf("%s: SensitiveOff is %t", text, !isOff)
		}
	}
	for _, text := range []string{
		`,"settings":[]`,
		`,"settings":{"more":1}`,
		`,"settings":{"sensitive":{"mode":"maybe"}}`,
		`,"settings":{"sensitive":{"mode":"mask","allow_patterns":["("]}}`,
		`,"settings":{"expiry":{"after":"soon"}}`,
		`,"settings":{"expiry":{"after":"1m"}}`,
		`,"settings":{"retention":{"age":"-1h","versions":1}}`,
		`,"settings":{"retention":{"age":"1h","versions":-1}}`,
		`,"settings":{"read_only":["a/b"]}`,
		`,"settings":{"read_only":["["]}`,
	} {
		_, err := archive.Load(t.Context(), bytes.NewReader(rewrite(t, data, settingsText, text)), nil)
		if format, ok := errors.AsType[*archive.FormatError](err); !ok || format.Entry != "memento.json" {
			t.Errorf("%s: %v; want a FormatError of memento.json", text, err)
		}
	}
}

// What is sensitive is replaced as the store that is written to asks for, in the
// history too, and counted.
func TestMasked(t *testing.T) {
	off := memento.DefaultSettings()
	off.Sensitive.Mode = memento.Off
	source := with(t, off)
	apply(t, source, memento.Put{Path: "/a", Content: "one " + token + " two " + token + "\n"})
	apply(t, source, memento.Put{Path: "/a", Content: "plain"})
	apply(t, source, memento.Put{Path: "/b", Content: "three " + token})
	data := export(t, source, nil)

	copied := newStore(t)
	sum, err := archive.Read(t.Context(), bytes.NewReader(data), copied, ana, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"github-pat": 3}, sum.Masked); diff != "" {
		t.Errorf("masked in the history:\n%s", diff)
	}
	for _, v := range stateOf(t, copied).Versions {
		if strings.Contains(v.Content, token) {
			t.Errorf("version %s of %s still has the secret", v.ID, v.Path)
		}
	}
	sum, err = archive.Read(t.Context(), bytes.NewReader(data), newStore(t), ana, &archive.ReadOptions{ContentsOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"github-pat": 1}, sum.Masked); diff != "" {
		t.Errorf("masked in the contents:\n%s", diff)
	}

	strict := memento.DefaultSettings()
	strict.Sensitive.Mode = memento.Reject
	refusing := with(t, strict)
	_, err = archive.Read(t.Context(), bytes.NewReader(data), refusing, ana, nil)
	if !errors.Is(err, memento.ErrSensitive) || strings.Contains(err.Error(), token) {
		t.Errorf("Read into a store that refuses: %v; want ErrSensitive, without the secret", err)
	}
	if st := stateOf(t, refusing); len(st.Versions) > 0 {
		t.Errorf("a refused import left %+v", st)
	}
}

// A path that looks sensitive cannot be replaced: the version is named, not the path.
func TestSensitivePath(t *testing.T) {
	off := memento.DefaultSettings()
	off.Sensitive.Mode = memento.Off
	source := with(t, off)
	version := apply(t, source, memento.Put{Path: "/keys/" + token, Content: "x"})[0].ID
	apply(t, source, memento.Move{From: "/keys/" + token, To: "/keys/main"})
	target := newStore(t)
	_, err := archive.Read(t.Context(), bytes.NewReader(export(t, source, nil)), target, ana, nil)
	if !errors.Is(err, memento.ErrSensitive) || strings.Contains(err.Error(), token) || !strings.Contains(err.Error(), string(version)) {
		t.Errorf("Read: %v; want ErrSensitive that names version %s and not the path", err, version)
	}
	if st := stateOf(t, target); len(st.Versions) > 0 {
		t.Errorf("a refused import left %+v", st)
	}
}

// Exceptions that would turn the detection off are not taken over; others are.
func TestWideExceptions(t *testing.T) {
	data := export(t, lived(t), nil)
	for _, tt := range []struct {
		exceptions string
		want       memento.Sensitive
		wide       int
	}{
		{`"allow":["x"],"allow_patterns":[".*","(?i)[\\s\\S]+","\\S{8,}","test_.*","[0-9a-f]{32}","AKIA[A-Z0-9]+"]`,
			memento.Sensitive{Allow: []string{"x"}, AllowPatterns: []string{"test_.*", "[0-9a-f]{32}", "AKIA[A-Z0-9]+"}}, 3},
		{`"allow_paths":["/","*","**","/docs","*.md","/tests/**"]`,
			memento.Sensitive{AllowPaths: []memento.Pattern{"/docs", "*.md", "/tests/**"}}, 3},
	} {
		tt.want.Mode = memento.Mask
		a := load(t, rewrite(t, data, `"mode":"mask"`, `"mode":"mask",`+tt.exceptions))
		if diff := cmp.Diff(tt.want, a.Spec().Settings.Sensitive, cmpopts.EquateEmpty()); diff != "" || a.WideExceptions() != tt.wide {
			t.Errorf("%s: %d left out, settings (-want +got):\n%s", tt.exceptions, a.WideExceptions(), diff)
		}
	}
}
