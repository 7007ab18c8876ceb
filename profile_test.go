package memento_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"memento"
)

func TestProfileNamed(t *testing.T) {
	for _, name := range append(memento.ProfileNames(), "") {
		if p, err := memento.ProfileNamed(name); err != nil || p == nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	_, err := memento.ProfileNamed("cobol")
	if !errors.Is(err, memento.ErrInvalid) || !strings.Contains(err.Error(), "documentation, typescript, python") {
		t.Error(err)
	}
}

// The typed methods answer in the words of the profile, too, with the same errors.
func TestProfileOfMethods(t *testing.T) {
	python, err := memento.ProfileNamed(memento.ProfilePython)
	if err != nil {
		t.Fatal(err)
	}
	tool := memento.NewTool(newStore(memento.Limits{}), &memento.ToolOptions{Profile: python})
	ctx := t.Context()
	for _, tt := range []struct {
		ask  func() (string, error)
		want string
		err  error
	}{
		{func() (string, error) { return tool.Create(ctx, "/memories/a.md", "a\n") }, "File created successfully at: /memories/a.md", nil},
		{func() (string, error) { return tool.Create(ctx, "/memories/a.md", "a\n") }, "File /memories/a.md already exists", memento.ErrExist},
		{func() (string, error) { return tool.StrReplace(ctx, "/memories/a.md", "", "b") }, "The `old_str` is empty.", memento.ErrInvalid},
		{func() (string, error) { return tool.Insert(ctx, "/memories/a.md", 7, "b") }, "Invalid `insert_line` parameter: 7. It should be within the range [0, 1].", memento.ErrOutOfRange},
		{func() (string, error) { return tool.Delete(ctx, "/memories/b.md") }, "The path /memories/b.md does not exist", memento.ErrNotExist},
	} {
		text, err := tt.ask()
		if err != nil {
			text = err.Error()
		}
		if !strings.HasPrefix(text, tt.want) && tt.err != memento.ErrInvalid || strings.HasPrefix(text, "Error: ") || !errors.Is(err, tt.err) {
			t.Errorf("got %q, %v; want %q, %v", text, err, tt.want, tt.err)
		}
	}
}

// Every text of a profile can be changed: the transcript profile_own does.
func TestProfileOwnIsComplete(t *testing.T) {
	conversation, err := txtar.ParseFile("testdata/tool/profile_own.txtar")
	if err != nil {
		t.Fatal(err)
	}
	st := newStage()
	st.set(t, &conversation.Files[0])
	v := reflect.ValueOf(*st.opts.Profile)
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.String && v.Field(i).Len() == 0 {
			t.Errorf("%s has no text", v.Type().Field(i).Name)
		}
	}
}
