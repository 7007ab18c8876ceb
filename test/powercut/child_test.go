//go:build linux

package powercut

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"memento"
	"memento/backend/dirstore"
	"memento/backend/sqlitestore"
	"memento/test/proctest"
)

const (
	writers  = 8 // of the store default; two others have stores of their own
	actorID  = "power cuts"
	ordinary = "default"
)

// A task is what a child process does: it opens a backend, reports its contents, and
// writes until it is killed.
type task struct {
	Engine string // dir or sqlite
	Dir    string // of the disk
	Seed   uint64
	Cycle  int
	After  map[memento.StoreID]int64 // versions up to this Seq are not reported again
	Only   bool                      // inspect, and do not write
	Script []operation               // executed in order, in place of random operations
}

// A report is a line of the child's output. One field is set.
type report struct {
	Found  *found     `json:",omitempty"`
	Begins *operation `json:",omitempty"`
	Done   *outcome   `json:",omitempty"`
}

// An outcome is how an operation ended.
type outcome struct {
	Writer, N int
	At        int64  // see ktime
	Err       string `json:",omitempty"`
}

// found has the contents of a backend after it was opened.
type found struct {
	Stores   map[string]memento.StoreID // by name
	Files    files
	Versions []version // after those of task.After, oldest first
	Problems []string  // inconsistencies
}

type version struct {
	Store     memento.StoreID
	Seq       int64
	Operation memento.Operation
	Path      string
	SHA256    string
	By        string
}

// A reporter prints reports, each as one whole line.
type reporter struct{ mu sync.Mutex }

// stores are those of this process, by name.
var stores sync.Map

func (p *reporter) print(r report) {
	line, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	os.Stdout.Write(append(line, '\n'))
}

func (t task) open(ctx context.Context) (memento.Backend, error) {
	if t.Engine == "dir" {
		return dirstore.Open(ctx, filepath.Join(t.Dir, "folder"), nil)
	}
	return sqlitestore.Open(ctx, filepath.Join(t.Dir, "memento.db"), nil)
}

func (t task) do() error {
	ctx := context.Background()
	b, err := t.open(ctx)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	what, err := t.inspect(ctx, b)
	if err != nil {
		return fmt.Errorf("inspect: %w", err)
	}
	var out reporter
	out.print(report{Found: what})
	if t.Only {
		return b.Close()
	}
	if t.Script != nil {
		for _, o := range t.Script {
			t.execute(ctx, b, &out, o)
		}
		<-proctest.Ended() // without closing it, as in a power cut
		return nil
	}
	for w := range writers + 2 {
		go t.write(ctx, b, &out, w, what.Files)
	}
	<-proctest.Ended()
	return nil
}

// store returns the store with a name, which the first write to it creates.
func (t task) store(b memento.Backend, name string) *memento.Store {
	set := memento.DefaultSettings()
	set.Sensitive.Mode = memento.Off
	s, _ := stores.LoadOrStore(name, memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: name, Settings: &set}, nil))
	return s.(*memento.Store)
}

// storeOf returns the store that a writer starts with.
func storeOf(writer, cycle int) string {
	switch {
	case writer < writers:
		return ordinary
	case writer == catalogueWriter:
		return fmt.Sprintf("temporary-%d", cycle)
	}
	return "other"
}

// write executes operations in order until one fails or the process ends.
func (t task) write(ctx context.Context, b memento.Backend, out *reporter, w int, all files) {
	c := &chooser{writer: w, store: storeOf(w, t.Cycle), cycle: t.Cycle, r: rand.New(rand.NewPCG(t.Seed, uint64(w))), files: all.ofWriter(w)}
	if w == catalogueWriter && len(c.files) > 0 { // the store that exists
		for key := range c.files {
			c.store, _, _ = strings.Cut(key, ":")
		}
	}
	for {
		o := c.next()
		if !t.execute(ctx, b, out, o) {
			return
		}
		o.apply(c.files)
	}
}

// ofWriter returns the files that one writer alone changes.
func (f files) ofWriter(w int) files {
	own := files{}
	for key, text := range f {
		if _, path, _ := strings.Cut(key, ":"); strings.HasPrefix(path, fmt.Sprintf("/w%d/", w)) {
			own[key] = text
		}
	}
	return own
}

// execute executes an operation, and reports it before and after.
func (t task) execute(ctx context.Context, b memento.Backend, out *reporter, o operation) bool {
	out.print(report{Begins: &o})
	err := t.call(ctx, b, o)
	done := outcome{Writer: o.Writer, N: o.N, At: ktime()}
	if err != nil {
		done.Err = err.Error()
	}
	out.print(report{Done: &done})
	return err == nil
}

func (t task) call(ctx context.Context, b memento.Backend, o operation) error {
	actor := memento.Actor{Kind: memento.ActorSession, ID: actorID}
	s := t.store(b, o.Store)
	tool := memento.NewTool(s, &memento.ToolOptions{Actor: actor})
	path, to := "/memories"+o.Path, "/memories"+o.To
	var err error
	switch o.Kind {
	case opCreate:
		_, err = tool.Create(ctx, path, o.Text)
	case opReplace:
		_, err = tool.StrReplace(ctx, path, o.Old, o.Text)
	case opInsert:
		_, err = tool.Insert(ctx, path, 1, o.Text)
	case opRename:
		_, err = tool.Rename(ctx, path, to)
	case opDelete:
		_, err = tool.Delete(ctx, path)
	case opBatch:
		changes := []memento.Change{memento.Remove{Path: memento.Path(o.Path)}}
		for _, p := range slices.Sorted(maps.Keys(o.Puts)) {
			changes = append(changes, memento.Put{Path: memento.Path(p), Content: o.Puts[p]})
		}
		_, err = s.Apply(ctx, actor, changes...)
	case opLog:
		if _, err = tool.Create(ctx, path, o.Text+"\n"); errors.Is(err, memento.ErrExist) {
			_, err = tool.Insert(ctx, path, 0, o.Text)
		}
	case opDeleteStore:
		var id memento.StoreID
		if id, err = s.ID(ctx); err == nil {
			err = b.DeleteStore(ctx, memento.DefaultWorkspace, id)
		}
	}
	return err
}
