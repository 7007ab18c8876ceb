package main

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"memento/backend/storetest"
	"memento/backend/storeurl"
)

// A text that was changed in the file is never shown, exported or edited; what is whole is
// named, and comes back by the command that is said.
func TestDamagedFile(t *testing.T) {
	dataHome(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "m.db")
	flags := []string{"--backend", storeurl.SQLite(file)}
	said := func(want int, input string, args ...string) (out, errs string) {
		t.Helper()
		code, out, errs := runWith(t, input, append(flags, args...)...)
		if code != want {
			t.Errorf("%v: exit code %d: %s%s", args, code, out, errs)
		}
		return out, errs
	}
	said(exitOK, "first 500 EUR\n", "put", "/pay.md")
	said(exitOK, "then 1000 EUR\n", "put", "/pay.md")
	said(exitOK, "beside\n", "put", "/there.md")
	blobs, err := storetest.FileBlobs(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := blobs[0].Write(t.Context(), bytes.ReplaceAll(blobs[0].Data, []byte("1000 EUR"), []byte("9000 EUR"))); err != nil {
		t.Fatal(err)
	}

	archive := filepath.Join(dir, "out.tar.gz")
	whole := ""
	for _, args := range [][]string{
		{"cat", "/pay.md"}, {"cat", "--annotate", "/pay.md"}, {"export", archive}, {"export", "--contents-only", archive},
	} {
		out, errs := said(exitStorage, "", args...)
		if strings.Contains(out, "9000") || !strings.Contains(errs, "is damaged") {
			t.Errorf("%v: %s%s", args, out, errs)
		}
		found := regexp.MustCompile(`"memento restore (memver_\w+)"`).FindStringSubmatch(errs)
		if found == nil {
			t.Errorf("%v does not say what is whole: %s", args, errs)
			continue
		}
		whole = found[1]
	}
	// The index still finds it, and shows no passage.
	if out, _ := said(exitOK, "", "search", "then"); out != "/pay.md\n" {
		t.Errorf("a search has found %q", out)
	}
	// The tool's commands end with 1, and say it in words.
	for input, args := range map[string][]string{
		`{"command":"view","path":"/memories/pay.md"}`:                                                     {"tool"},
		`{"command":"str_replace","path":"/memories/pay.md","old_str":"9000 EUR","new_str":"7 EUR"}`:       {"tool"},
		`{"command":"insert","path":"/memories/pay.md","insert_line":0,"insert_text":"on top of what is"}`: {"tool"},
	} {
		out, _ := said(exitOK, input+"\n", args...)
		if strings.Contains(out, "9000") || !strings.Contains(out, "/memories/pay.md is damaged in storage") {
			t.Errorf("%s: %s", input, out)
		}
	}
	if out, _ := said(exitOK, "", "cat", "/there.md"); out != "beside\n" {
		t.Errorf("another memory: %s", out)
	}
	if out, _ := said(exitOK, "", "log", "/pay.md"); strings.Count(out, "memver_") != 2 {
		t.Errorf("log: %s", out)
	}

	out, _ := said(exitStorage, "", "doctor")
	if !strings.Contains(out, "its newest undamaged version is "+whole) || !strings.Contains(out, whole+`" brings that version back`) {
		t.Errorf("doctor: %s", out)
	}
	if n := strings.Count(out, "fault: "); n != 1 {
		t.Errorf("doctor reports one damage %d times: %s", n, out)
	}
	out, _ = said(exitStorage, "", "doctor", "--repair", "--dry-run")
	if !strings.Contains(out, "would repair: store memstore_") {
		t.Errorf("dry run: %s", out)
	}
	said(exitStorage, "", "cat", "/pay.md")
	out, _ = said(exitStorage, "", "doctor", "--repair", "--json")
	if !strings.Contains(out, `{"type":"memento_repair"`) || !strings.Contains(out, `"from_memory_version_id":"`+whole+`"`) || !strings.Contains(out, `"repaired":1`) {
		t.Errorf("repair: %s", out)
	}
	if out, _ := said(exitOK, "", "cat", "/pay.md"); out != "first 500 EUR\n" {
		t.Errorf("repaired: %s", out)
	}
	if out, _ := said(exitOK, "", "log", "/pay.md"); !strings.Contains(out, "system repair") {
		t.Errorf("log: %s", out)
	}
	out, _ = said(exitStorage, "", "doctor")
	found := regexp.MustCompile(`"memento (redact --store memstore_\w+ memver_\w+)"`).FindStringSubmatch(out)
	if found == nil {
		t.Fatalf("doctor does not say how to give it up: %s", out)
	}
	said(exitOK, "", append(strings.Fields(found[1]), "--yes")...)
	said(exitOK, "", "doctor")
	said(exitOK, "", "export", archive)
	said(exitOK, "", "import", "--store", "copy", archive)
	said(exitUsage, "", "doctor", "--dry-run")
}
