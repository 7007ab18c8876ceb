package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"memento"
	"memento/backend/memstore"

	"github.com/google/go-cmp/cmp"
)

// An overtaken backend lets others change a store's settings right before its
// first change is made.
type overtaken struct {
	memento.Backend
	others func()
}

func (b *overtaken) UpdateStore(ctx context.Context, ws memento.Workspace, id memento.StoreID, u memento.StoreUpdate) (memento.StoreInfo, error) {
	if others := b.others; others != nil {
		b.others = nil
		others()
	}
	return b.Backend.UpdateStore(ctx, ws, id, u)
}

// What others do to the settings while a store is made from an archive stays.
func TestFinishStore(t *testing.T) {
	b := memstore.New(nil)
	settings := memento.DefaultSettings()
	settings.Sensitive.Allow = []string{"one", "two"}
	settings.Sensitive.AllowPaths = []memento.Pattern{"/fixtures"}
	info, err := b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "copy", Settings: &settings})
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	a := newApp(strings.NewReader(""), &bytes.Buffer{}, &errs)
	s, err := a.openNamed(t.Context(), b, memento.StoreSpec{Name: "copy"})
	if err != nil {
		t.Fatal(err)
	}
	changed := settings
	changed.Sensitive.Personal = true
	changed.ReadOnly = []memento.Pattern{"/theirs", "/both"}
	others := func() {
		if _, err := b.UpdateStore(t.Context(), memento.DefaultWorkspace, info.ID, memento.StoreUpdate{Settings: &changed}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.finishStore(t.Context(), &overtaken{b, others}, s, []memento.Pattern{"/both", "/ours"}); err != nil {
		t.Fatal(err)
	}
	got, err := b.GetStore(t.Context(), memento.DefaultWorkspace, info.ID)
	if err != nil {
		t.Fatal(err)
	}
	want := changed
	want.ReadOnly = []memento.Pattern{"/theirs", "/both", "/ours"}
	if diff := cmp.Diff(want, got.Settings); diff != "" {
		t.Errorf("settings differ:\n%s", diff)
	}
	if note := `allow sensitive texts in store copy (2 texts, 1 path); "memento stores settings copy" lists them`; !strings.Contains(errs.String(), note) {
		t.Errorf("said %q; want %q", errs.String(), note)
	}
}
