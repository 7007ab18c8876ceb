package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"memento"
)

// imagined returns the evidence of calls made by one client after the other, all of which
// take effect at once, as the model says.
func imagined(t *testing.T) *evidence {
	t.Helper()
	e := &evidence{final: map[int]arena{}, limit: time.Minute, others: func(string) bool { return false }}
	c := &client{h: newRecording(), c: &cluster{servers: make([]*server, numServers)}, random: rand.New(rand.NewPCG(1, 2))}
	for range 400 {
		o := c.choose()
		before := e.final[0]
		after, answer := o.step(before)
		e.final[0] = after
		at := e.readAt
		e.readAt += 2
		e.records = append(e.records, record{Op: o, Client: o.ID % numClients, Call: at, Return: at + 1, Fate: done, Result: answer})
		if answer.Refused == "" {
			c.learn(o, answer)
		}
		if o.reads() || answer.Refused != "" {
			continue
		}
		r := &e.records[len(e.records)-1]
		for i, text := range wantVersions(o, before, after) {
			p, hash, _ := strings.Cut(text, " ")
			v := memento.Version{ID: memento.VersionID(fmt.Sprintf("memver_%d_%d", o.ID, i)), Path: memento.Path(p), SHA256: hash, CreatedBy: o.session()}
			if hash == "deleted" {
				v.SHA256, v.Operation = "", memento.Deleted
			}
			e.versions = append(e.versions, v)
			r.Versions = append(r.Versions, string(v.ID))
		}
	}
	if problems := e.check().problems; len(problems) > 0 {
		t.Fatalf("what was imagined makes no sense: %q", problems)
	}
	return e
}

// find returns the last record for which is returns true.
func (e *evidence) find(t *testing.T, is func(record) bool) *record {
	t.Helper()
	for i, r := range slices.Backward(e.records) {
		if is(r) {
			return &e.records[i]
		}
	}
	t.Fatal("there is no such call")
	return nil
}

// wrote reports whether a call has one of these kinds and took effect.
func wrote(kinds ...string) func(record) bool {
	return func(r record) bool {
		return r.Result.Refused == "" && !r.Op.reads() && (len(kinds) == 0 || slices.Contains(kinds, r.Op.Kind))
	}
}

func (e *evidence) without(id int, is func(memento.Version) bool) {
	e.versions = slices.DeleteFunc(e.versions, func(v memento.Version) bool {
		return v.CreatedBy == (op{ID: id}).session() && is(v)
	})
}

func anyVersion(memento.Version) bool { return true }

// TestCheckBites changes evidence in the ways in which servers could fail, and expects
// each change to be found.
func TestCheckBites(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(t *testing.T, e *evidence)
		want  string
	}{
		{"a write is lost", func(t *testing.T, e *evidence) {
			e.without(e.find(t, wrote("insert")).Op.ID, anyVersion)
		}, "it was acknowledged, and is lost"},
		{"a write is lost, and nobody looks", func(t *testing.T, e *evidence) {
			r := e.find(t, wrote("put"))
			e.records = e.records[:slices.IndexFunc(e.records, func(x record) bool { return x.Op == r.Op })+1]
			e.versions = e.versions[:len(e.versions)-1]
			e.final[0] = arena{}
		}, "is not linearizable"},
		{"a directory is moved by half", func(t *testing.T, e *evidence) {
			r := e.find(t, func(r record) bool { return wrote("move dir")(r) && len(r.Versions) == 2 })
			e.without(r.Op.ID, func(v memento.Version) bool { return string(v.ID) == r.Versions[0] })
		}, "where it should write"},
		{"changes made as one are torn apart", func(t *testing.T, e *evidence) {
			r := e.find(t, func(r record) bool { return wrote("pair")(r) && len(r.Versions) == 2 })
			i := slices.IndexFunc(e.versions, func(v memento.Version) bool { return string(v.ID) == r.Versions[0] })
			e.versions[i-1], e.versions[i] = e.versions[i], e.versions[i-1]
		}, "it took effect twice, or not as one"},
		{"a write happens twice", func(t *testing.T, e *evidence) {
			v := e.versions[len(e.versions)-1]
			v.ID += "again"
			e.versions = append(e.versions, memento.Version{CreatedBy: memento.Actor{Kind: memento.ActorSession, ID: "op-1"}}, v)
		}, "it took effect twice, or not as one"},
		{"what failed has happened", func(t *testing.T, e *evidence) {
			e.find(t, wrote("create")).Fate = failed
		}, "it took effect, and was said not to"},
		{"what was refused has happened", func(t *testing.T, e *evidence) {
			e.find(t, wrote("if")).Result.Refused = "conflict"
		}, "it took effect, and was refused"},
		{"a read is stale", func(t *testing.T, e *evidence) {
			list := func(r record) bool { return r.Op.Kind == "list" }
			last := e.find(t, list)
			last.Result = e.find(t, func(r record) bool { return list(r) && r.Result != last.Result }).Result
		}, "is not linearizable"},
		{"an edit is based on what was gone", func(t *testing.T, e *evidence) {
			r := e.find(t, func(r record) bool { return r.Op.Kind == "if" && r.Result.Refused == "conflict" })
			r.Result.Refused = ""
		}, "it was acknowledged, and is lost"},
		{"a write is ordered before what it followed", func(t *testing.T, e *evidence) {
			first, second := -1, -1
			for i, v := range e.versions[1:] {
				if before := e.versions[i]; before.CreatedBy != v.CreatedBy {
					first, second = i, i+1
				}
			}
			e.versions[first], e.versions[second] = e.versions[second], e.versions[first]
		}, "the history has it after what was called later"},
		{"nobody has made a version", func(t *testing.T, e *evidence) {
			e.versions[0].CreatedBy.ID = "somebody"
		}, "who made no call"},
		{"what there is is not what the history says", func(t *testing.T, e *evidence) {
			s := e.final[0]
			s[logCell] += "i999999;\n"
			e.final[0] = s
		}, "by the history it should hold"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := imagined(t)
			tt.spoil(t, e)
			if problems := e.check().problems; !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, tt.want) }) {
				t.Errorf("found %q; want something that %s", problems, tt.want)
			}
		})
	}
}

// A call with an unknown outcome may have happened or not.
func TestCheckUnknown(t *testing.T) {
	e := imagined(t)
	n := 0
	for i := range e.records {
		if r := &e.records[i]; i%3 == 0 && wrote()(*r) {
			r.Fate, r.Versions = unknown, nil
			n++
		}
	}
	e.records = append(e.records, record{Op: op{ID: 100_000, Kind: "put"}, Fate: unknown, Call: e.readAt})
	if v := e.check(); len(v.problems) > 0 || v.happened != n {
		t.Errorf("%d of %d took effect; problems: %q", v.happened, n, v.problems)
	}
}

func TestAuditLedger(t *testing.T) {
	clerks := []*clerk{{lines: []*entry{{"a", true, 0}, {"b", true, 2}, {"c", false, 1}, {"d", false, 1}}}}
	for content, want := range map[string]string{
		"top\na\nb\n":             "",
		"top\nb\na\nb\nb\nc\n":    "",
		"a\nb\n":                  "has lost its first line",
		"top\nb\n":                `"a" 0 times`,
		"top\na\na\nb\n":          `"a" 2 times`,
		"top\na\nb\nd\nd\n":       `"d" 2 times`,
		"top\na\nb\nb\nb\nb\nd\n": `"b" 4 times`,
		"top\na\nb\nx\n":          `"x", which nobody wrote`,
	} {
		problems := auditLedger(content, clerks)
		if got := strings.Join(problems, "\n"); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %s; want %s", content, got, want)
		}
	}
}

// Contents can be restored from their short form, and different contents have different
// short forms.
func TestShorten(t *testing.T) {
	for _, id := range []int{1, 5} {
		if got := shorten(lengthen(value(id))); got != value(id) {
			t.Errorf("got %q", got)
		}
	}
	torn := lengthen(value(5))
	for _, content := range []string{torn[:len(torn)-1], strings.Replace(torn, "0123", "0124", 1)} {
		if got := shorten(content); !strings.HasPrefix(got, "torn contents") {
			t.Errorf("%.40q of %d bytes is %q", content, len(content), got)
		}
	}
}
