package main

import (
	"testing"
	"time"

	"memento"

	"github.com/google/go-cmp/cmp"
)

func TestLayOut(t *testing.T) {
	at := func(h int) time.Time { return time.Date(2026, 1, 1, h, 0, 0, 0, time.UTC) }
	e := func(p memento.Path, dir bool, size int64, h int) memento.Entry {
		return memento.Entry{Path: p, Dir: dir, Usage: memento.Usage{Memories: 1, Bytes: size}, UpdatedAt: at(h)}
	}
	got := layOut("/d", []memento.Entry{
		e("/d/a-", false, 1, 1), e("/d/a/b", false, 2, 2), e("/d/a/c/x", false, 4, 5), e("/d/a/d", true, 8, 3), e("/d/b/c/y", false, 16, 4), e("/d/z", false, 32, 1),
		{Path: "/d/zip", UpdatedAt: at(6), Foreign: true},
	})
	want := []node{
		{"a-", "/d/a-", 0, false, 1, at(1), false, memento.Memory{}},
		{"a/", "/d/a", 0, true, 14, at(5), false, memento.Memory{}},
		{"b", "/d/a/b", 1, false, 2, at(2), false, memento.Memory{}},
		{"c/", "/d/a/c", 1, true, 4, at(5), false, memento.Memory{}},
		{"x", "/d/a/c/x", 2, false, 4, at(5), false, memento.Memory{}},
		{"d/", "/d/a/d", 1, true, 8, at(3), false, memento.Memory{}},
		{"b/", "/d/b", 0, true, 16, at(4), false, memento.Memory{}},
		{"c/", "/d/b/c", 1, true, 16, at(4), false, memento.Memory{}},
		{"y", "/d/b/c/y", 2, false, 16, at(4), false, memento.Memory{}},
		{"z", "/d/z", 0, false, 32, at(1), false, memento.Memory{}},
		{"zip", "/d/zip", 0, false, 0, at(6), true, memento.Memory{}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(node{})); diff != "" {
		t.Errorf("the tree differs:\n%s", diff)
	}
}
