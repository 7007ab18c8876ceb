package main

import (
	"bufio"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNextLine(t *testing.T) {
	const most = 100_000
	long, longer := strings.Repeat("l", most), strings.Repeat("m", most+1)
	in := bufio.NewReaderSize(strings.NewReader("a\n\n"+long+"\n"+longer+"\nb\n"+longer), 64<<10)
	var got []string
	for {
		l := nextLine(in, most)
		if l.end {
			break
		}
		switch {
		case l.err != nil:
			t.Fatal(l.err)
		case l.tooLong:
			got = append(got, "too long")
		case string(l.text) == long+"\n":
			got = append(got, "long")
		default:
			got = append(got, string(l.text))
		}
	}
	want := []string{"a\n", "\n", "long", "too long", "b\n", "too long"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines differ:\n%s", diff)
	}
}

// A line that never ends costs no more memory than the longest one.
func TestEndlessLine(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	l := nextLine(bufio.NewReader(io.LimitReader(endless{}, 64<<20)), maxLine)
	runtime.ReadMemStats(&after)
	if !l.tooLong {
		t.Errorf("got %d bytes; want a line that is too long", len(l.text))
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 8*maxLine {
		t.Errorf("allocated %d bytes", used)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
