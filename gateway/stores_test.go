package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"memento"
	"memento/gateway"
)

// saver is an upstream whose model saves a note and then says so, again and again.
func saver(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if strings.Contains(string(body), "tool_result") {
		saying(saysDone)(w, r)
		return
	}
	saying(savesNote)(w, r)
}

// The store is that of the header, else that of the user, else the default of the key.
func TestStoreOfARequest(t *testing.T) {
	user := strings.Replace(asksSave, "{", `{"metadata":{"user_id":"ann@example.com"},`, 1)
	for name, test := range map[string]struct {
		body     string
		headers  []string
		ignoring bool // of users
		store    string
	}{
		"the default":             {body: asksSave, store: "default"},
		"of the user":             {body: user, store: "user-ann@example.com"},
		"of the header":           {body: user, headers: []string{"Memento-Store", "team notes"}, store: "team notes"},
		"without stores of users": {body: user, ignoring: true, store: "default"},
	} {
		w := newWorld(t, http.HandlerFunc(saver), func(c *gateway.Config) { c.UserStores = !test.ignoring })
		w.post("/v1/messages", test.body, test.headers...)
		var names []string
		for info, err := range w.backend.ListStores(t.Context(), memento.DefaultWorkspace, mementoAll) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, info.Name)
		}
		if len(names) != 1 || names[0] != test.store || w.file("/a.md", test.store) != "a\n" {
			t.Errorf("%s: the stores are %q, want %q", name, names, test.store)
		}
	}
	w := newWorld(t, http.HandlerFunc(saver))
	if response, got := w.post("/v1/messages", asksSave, "Memento-Store", "a", "Memento-Store", "b"); response.StatusCode != http.StatusBadRequest {
		t.Errorf("two stores got %d %s", response.StatusCode, got)
	}
}

// Mounts show several stores at once: that of the user, and one that all may only view.
func TestMounts(t *testing.T) {
	call := func(id, input string) string {
		return `{"type":"tool_use","id":"` + id + `","name":"memory","input":` + input + `}`
	}
	up := &tape{answers: []string{
		`{"id":"m","type":"message","role":"assistant","content":[` +
			call("toolu_1", `{"command":"view","path":"/memories/team/rules.md"}`) + `,` +
			call("toolu_2", `{"command":"create","path":"/memories/user/a.md","file_text":"mine\n"}`) + `,` +
			call("toolu_3", `{"command":"create","path":"/memories/team/b.md","file_text":"x"}`) + `,` +
			call("toolu_4", `{"command":"create","path":"/memories/c.md","file_text":"x"}`) +
			`],"stop_reason":"tool_use","usage":{"input_tokens":1}}`,
		saysDone,
	}}
	w := newWorld(t, up, func(c *gateway.Config) {
		c.Mounts = []gateway.Mount{{Name: "user", Store: "{store}"}, {Name: "team", Store: "team notes", ReadOnly: true}}
	})
	team := memento.OpenNamed(w.backend, memento.DefaultWorkspace, memento.StoreSpec{Name: "team notes"}, &w.config.Stores)
	if _, err := team.Apply(t.Context(), memento.Actor{Kind: memento.ActorSystem, ID: "test"}, memento.Put{Path: "/rules.md", Content: "Be kind.\n"}); err != nil {
		t.Fatal(err)
	}
	w.post("/v1/messages", strings.Replace(asksSave, "{", `{"metadata":{"user_id":"u1"},`, 1))
	if got := w.file("/a.md", "user-u1"); got != "mine\n" {
		t.Errorf("the user's memory is %q", got)
	}
	for _, path := range []memento.Path{"/b.md", "/c.md"} {
		for _, store := range []string{"team notes", "user-u1", "default"} {
			if got := w.file(path, store); !strings.HasPrefix(got, "error: ") {
				t.Errorf("%s of %s is %q", path, store, got)
			}
		}
	}
	results := up.bodies[1]
	if !strings.Contains(results, "Be kind.") || strings.Count(results, `"is_error":true`) != 2 || !strings.Contains(results, "read-only") {
		t.Errorf("the model was told %s", results)
	}
	if response, got := w.post("/v1/messages", asksSave, "Memento-Store", "team notes"); response.StatusCode != http.StatusBadRequest || !strings.Contains(got, "mounted already") {
		t.Errorf("a store that is mounted got %d %s", response.StatusCode, got)
	}
}

// A store that fails does not break the conversation: the model is told in a sentence.
func TestFailingStore(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		first, second, body := savesNote, saysDone, asksSave
		if streaming {
			first, second, body = streamOf(t, savesNote), streamOf(t, saysDone), strings.Replace(asksSave, "{", `{"stream":true,`, 1)
		}
		up := &tape{answers: []string{first, second}}
		w := newWorld(t, up, func(c *gateway.Config) {
			b := &failingBackend{Backend: c.Backend}
			b.down.Store(true)
			c.Backend, c.State = b, gateway.NewState(b)
		})
		response, got := w.post("/v1/messages", body)
		if response.StatusCode != http.StatusOK || !strings.Contains(got, "Done.") || strings.Contains(got, `"error"`) {
			t.Errorf("streaming=%v: got %d %s", streaming, response.StatusCode, got)
		}
		if told := up.bodies[1]; !strings.Contains(told, "cannot be reached at present. Nothing was changed.") || !strings.Contains(told, `"is_error":true`) {
			t.Errorf("streaming=%v: the model was told %s", streaming, told)
		}
		if len(w.turns) != 1 || w.turns[0].FailedCalls != 1 || w.turns[0].Outcome != "ok" {
			t.Errorf("streaming=%v: observed %+v", streaming, w.turns)
		}
	}
}
