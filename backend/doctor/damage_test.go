package doctor_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"memento"
	"memento/backend/doctor"
	"memento/backend/sqlitestore"
	"memento/backend/storetest"
)

// harmed changes bytes in the file of a backend, which is closed, and opens it again.
func harmed(t *testing.T, file, good, bad string) memento.Backend {
	t.Helper()
	blobs, err := storetest.FileBlobs(file)
	if err != nil {
		t.Fatal(err)
	}
	data := bytes.Replace(blobs[0].Data, []byte(good), []byte(bad), 1)
	if bytes.Equal(data, blobs[0].Data) {
		t.Fatalf("%q is not in the file", good)
	}
	if err := blobs[0].Write(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	b, err := sqlitestore.Open(t.Context(), file, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// Each damaged memory is reported with its last whole version, and repaired: exactly if
// its text is kept elsewhere, else from that version.
func TestMend(t *testing.T) {
	file := filepath.Join(t.TempDir(), "m.db")
	b, err := sqlitestore.Open(t.Context(), file, nil)
	if err != nil {
		t.Fatal(err)
	}
	settings := memento.DefaultSettings()
	settings.Sensitive.Mode = memento.Off
	info, err := b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "notes", Settings: &settings})
	if err != nil {
		t.Fatal(err)
	}
	put := func(p memento.Path, text string) memento.Version {
		done, err := b.Apply(t.Context(), info.ID, someone, []memento.Change{memento.Put{Path: p, Content: text}})
		if err != nil {
			t.Fatal(err)
		}
		return done.Versions[0]
	}
	put("/plain.md", "stays as it is")
	older := put("/older.md", "the older text")
	newest := put("/older.md", "the newest text")
	old := put("/history.md", "only of the past")
	put("/history.md", "and now")
	equal := put("/copy.md", "kept in two places")
	head := put("/equal.md", "kept in two places") // after the other in the file's page, which is filled from its end
	lost := put("/lost.md", "of one version")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	var now memento.Backend = harmed(t, file, "the newest text", "the newest test")
	for good, bad := range map[string]string{"only of the past": "only of the post", "kept in two places": "kept in two pieces"[:18], "of one version": "of one Version"} {
		if err := now.Close(); err != nil {
			t.Fatal(err)
		}
		now = harmed(t, file, good, bad)
	}
	if _, err := now.Get(t.Context(), info.ID, memento.ByID(head.Memory)); err == nil {
		head, equal = equal, head // it was the other one
	}

	check := func() map[memento.VersionID]doctor.Fault {
		_, faults := look(t, now, info)
		found := map[memento.VersionID]doctor.Fault{}
		for _, f := range faults {
			if f.Damage == nil {
				t.Errorf("also: %+v", f)
				continue
			}
			found[f.Damage.Version.ID] = f
		}
		return found
	}
	found := check()
	for v, says := range map[memento.VersionID]string{
		newest.ID: `"memento restore --store ` + string(info.ID) + ` ` + string(older.ID) + `"`, old.ID: `"memento redact --store ` + string(info.ID) + ` ` + string(old.ID) + `"`,
		head.ID: "backup", lost.ID: "backup",
	} {
		if f, ok := found[v]; !ok || !strings.Contains(f.Repair, says) {
			t.Errorf("%s: %+v, want a repair with %s", v, f, says)
		}
	}
	if len(found) != 4 {
		t.Errorf("%d damaged versions: %+v", len(found), found)
	}

	d := doctor.Doctor{Backend: now}
	for _, dryRun := range []bool{true, false} {
		for _, want := range []struct {
			damaged, from memento.VersionID
			exact         bool
			err           error
		}{
			{newest.ID, older.ID, false, nil}, {head.ID, equal.ID, true, nil},
			{old.ID, "", false, doctor.ErrBeyondRepair}, {lost.ID, "", false, doctor.ErrBeyondRepair},
		} {
			m, err := d.RepairMemory(t.Context(), info, *found[want.damaged].Damage, dryRun)
			if !errors.Is(err, want.err) || m.From != want.from || m.Exact != want.exact || err == nil && (m.New == "") != dryRun {
				t.Errorf("dry run %v, %s: %+v, %v", dryRun, want.damaged, m, err)
			}
			if m.New == "" {
				continue
			}
			v, err := now.GetVersion(t.Context(), info.ID, m.New)
			if err != nil || v.CreatedBy != doctor.Actor || v.Memory != found[want.damaged].Damage.Version.Memory {
				t.Errorf("made: %+v, %v", v, err)
			}
		}
	}
	holds(t, now, info.ID, map[memento.Path]string{"/plain.md": "stays as it is", "/older.md": "the older text", "/history.md": "and now",
		"/copy.md": "kept in two places", "/equal.md": "kept in two places"})
	if _, err := now.Apply(t.Context(), info.ID, someone, []memento.Change{memento.Remove{Path: "/lost.md"}}); err != nil {
		t.Fatal(err)
	}
	for id := range found {
		if _, err := now.Redact(t.Context(), info.ID, id, someone); err != nil {
			t.Fatal(err)
		}
	}
	if left := check(); len(left) > 0 {
		t.Errorf("still damaged: %+v", left)
	}
}

// holds checks what memories have that can be read.
func holds(t *testing.T, b memento.Backend, store memento.StoreID, want map[memento.Path]string) {
	t.Helper()
	for p, text := range want {
		if m, err := b.Get(context.WithoutCancel(t.Context()), store, memento.ByPath(p)); err != nil || m.Content != text {
			t.Errorf("%s: %q, %v", p, m.Content, err)
		}
	}
}
