package dirstore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memento"
)

// A folder written by the local tools of the TypeScript and Python SDKs: files below
// "memories", files that their writing has left, and no more.
func sdkFolder(t *testing.T) *site {
	t.Helper()
	s := &site{T: t, base: filepath.Join(t.TempDir(), "memory"), by: memento.Actor{Kind: memento.ActorSession, ID: "sesn_test"}}
	s.memories = filepath.Join(s.base, "memories")
	s.do(os.MkdirAll(s.memories, 0o700))
	s.write("customer_service_guidelines.xml", "<guidelines>\r\n</guidelines>")
	s.write("refunds/policy.md", "Ask first.\n")
	s.write("refunds/empty.txt", "")
	s.write(".tmp-4711-6f1c1b2e", "half of a fi")
	s.do(os.Mkdir(filepath.Join(s.memories, "emptied"), 0o700))
	return s
}

func (s *site) findDefault() {
	s.Helper()
	for info, err := range s.b.ListStores(s.Context(), memento.DefaultWorkspace, memento.StoreListOptions{}) {
		s.do(err)
		if info.Name != "default" || s.store != "" {
			s.Errorf("found store %q", info.Name)
		}
		s.store = info.ID
	}
}

func TestSDKFolder(t *testing.T) {
	s := sdkFolder(t)
	s.b = s.open(nil)
	s.findDefault()
	s.holds(map[memento.Path]string{
		"/customer_service_guidelines.xml": "<guidelines>\r\n</guidelines>",
		"/refunds/policy.md":               "Ask first.\n",
		"/refunds/empty.txt":               "",
	})
	s.wantVersions("hand created /customer_service_guidelines.xml <guidelines>\r\n</guidelines>",
		"hand created /refunds/empty.txt", "hand created /refunds/policy.md Ask first.")
	// What the SDK's tool does while memento has the folder open.
	s.write("refunds/policy.md", "Ask first, then pay.\n")
	s.write("emptied/again.md", "new")
	s.do(os.Rename(s.file("refunds/empty.txt"), s.file("moved.txt")))
	s.holds(map[memento.Path]string{
		"/customer_service_guidelines.xml": "<guidelines>\r\n</guidelines>",
		"/refunds/policy.md":               "Ask first, then pay.\n",
		"/emptied/again.md":                "new",
		"/moved.txt":                       "",
	})
	// And what memento does, seen by the SDK's tool: plain files.
	store, err := memento.OpenStore(t.Context(), s.b, memento.DefaultWorkspace, s.store, &memento.StoreOptions{Detector: none{}})
	s.do(err)
	tool := memento.NewTool(store, nil)
	for _, input := range []string{
		`{"command":"create","path":"/memories/todo/today.md","file_text":"one\ntwo\n"}`,
		`{"command":"str_replace","path":"/memories/todo/today.md","old_str":"two","new_str":"three"}`,
		`{"command":"delete","path":"/memories/refunds"}`,
		`{"command":"rename","old_path":"/memories/moved.txt","new_path":"/memories/todo/moved.txt"}`,
		`{"command":"create","path":"/memories/emptied/again.md/x","file_text":"in the way"}`,
	} {
		if result := tool.Run(t.Context(), []byte(input)); result.IsError != strings.Contains(input, "in the way") {
			t.Errorf("%s: %+v", input, result)
		}
	}
	s.do(os.Remove(s.file(".tmp-4711-6f1c1b2e")))
	s.onDisk(map[string]string{
		"customer_service_guidelines.xml": "<guidelines>\r\n</guidelines>",
		"emptied/":                        "", "emptied/again.md": "new",
		"todo/": "", "todo/today.md": "one\nthree\n", "todo/moved.txt": "",
	})
}

// none detects nothing.
type none struct{}

func (none) Detect(string, bool) []memento.Finding { return nil }

// A folder that appears while the backend is open is found as well.
func TestSDKFolderLater(t *testing.T) {
	s := sdkFolder(t)
	aside := filepath.Join(s.base, "aside")
	s.do(os.Rename(s.memories, aside))
	s.b = s.open(nil)
	s.findDefault()
	if s.store != "" {
		t.Fatal("there is a store already")
	}
	s.do(os.Rename(aside, s.memories))
	s.findDefault()
	if got := s.get("/refunds/policy.md").Content; got != "Ask first.\n" {
		t.Errorf("got %q", got)
	}
}

// Opening and reading an empty folder makes no store.
func TestEmptyFolder(t *testing.T) {
	s := &site{T: t, base: filepath.Join(t.TempDir(), "new")}
	s.b = s.open(nil)
	s.findDefault()
	if s.store != "" {
		t.Error("there is a store")
	}
	if _, err := os.Lstat(filepath.Join(s.base, "memories")); !os.IsNotExist(err) {
		t.Errorf("there is a folder: %v", err)
	}
	if _, err := Open(t.Context(), filepath.Join(s.base, "no", "such"), nil); err == nil || strings.Contains(err.Error(), s.base) {
		t.Errorf("in a folder that does not exist: %v", err)
	}
}
