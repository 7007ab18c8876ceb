package foldersync

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/backend/sqlitestore"
	"memento/test/longtest"
	"memento/test/proctest"
)

func TestMain(m *testing.M) {
	proctest.Main(syncForever)
	os.Exit(m.Run())
}

// A childTask is what a child process syncs.
type childTask struct{ Dir, State, Database, Host string }

// syncForever syncs a pair again and again, until the process is killed.
func syncForever(task childTask) error {
	b, err := sqlitestore.Open(context.Background(), task.Database, nil)
	if err != nil {
		return err
	}
	report := func(a Action) { fmt.Println(a.Kind) }
	s, err := Open(task.Dir, openStore(b), task.State, &Options{Actor: ana, Host: task.Host, Report: report})
	if err != nil {
		return err
	}
	for {
		if _, err := s.Sync(context.Background()); err != nil {
			return err
		}
	}
}

// writers are the goroutines that edit both sides, and what they have done.
type writers struct {
	p     *pair
	mu    sync.Mutex
	words map[string]bool // that were written, and not removed on purpose
	total int
	stop  atomic.Bool
	errs  chan error
}

func (w *writers) wrote(word string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.words[word] = true
	w.total++
}

// removing notes that a word is about to be removed.
func (w *writers) removing(word string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.words, word)
}

const sharedNotes = 12

// inFolder edits the folder, as programs do that append to a file that is there, write new
// notes, rename and remove their own.
func (w *writers) inFolder(id int) error {
	r := rand.New(rand.NewPCG(uint64(id), 1))
	for n := 0; !w.stop.Load(); n++ {
		word := fmt.Sprintf("f%d-%d.", id, n)
		var err error
		switch own := filepath.Join(w.p.dir, fmt.Sprintf("own f%d-%d.md", id, n)); r.IntN(8) {
		case 0: // a note of its own
			if err = os.WriteFile(own+".part~", []byte(word+"\n"), 0o600); err == nil {
				err = os.Rename(own+".part~", own)
			}
			if err == nil {
				w.wrote(word)
			}
		case 1: // rename one of these
			if old := w.ownFile(r, id); old != "" {
				err = ignoreAbsent(os.Rename(old, own))
			}
		case 2:
			if old := w.ownFile(r, id); old != "" {
				text, readErr := os.ReadFile(old)
				w.removing(strings.TrimSpace(string(text)))
				err = ignoreAbsent(errors.Join(readErr, os.Remove(old)))
			}
		case 3: // a note that both sides make
			err = w.createShared(fmt.Sprintf("both-%d.md", n/10), word)
		default:
			err = w.appendShared(fmt.Sprintf("shared-%d.md", r.IntN(sharedNotes)), word)
		}
		if err != nil {
			return err
		}
		time.Sleep(time.Duration(r.IntN(150)) * time.Millisecond)
	}
	return nil
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// ownFile returns one of the files that a writer has made, or "".
func (w *writers) ownFile(r *rand.Rand, id int) string {
	found, err := filepath.Glob(filepath.Join(w.p.dir, fmt.Sprintf("own f%d-*.md", id)))
	if err != nil || len(found) == 0 {
		return ""
	}
	return found[r.IntN(len(found))]
}

func (w *writers) createShared(name, word string) error {
	f, err := os.OpenFile(filepath.Join(w.p.dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return w.appendTo(f, word)
}

func (w *writers) appendShared(name, word string) error {
	f, err := os.OpenFile(filepath.Join(w.p.dir, name), os.O_WRONLY|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return w.appendTo(f, word)
}

// appendTo writes a line to an open file. It counts unless the file has lost its name by
// then: an editor that was stopped for so long could tell.
func (w *writers) appendTo(f *os.File, word string) error {
	_, err := f.WriteString(word + "\n")
	if err == nil && hasName(f) {
		w.wrote(word)
	}
	return errors.Join(err, f.Close())
}

// inStore edits the store, as agents do.
func (w *writers) inStore(ctx context.Context, id int, store *memento.Store) error {
	r := rand.New(rand.NewPCG(uint64(id), 2))
	by := memento.Actor{Kind: memento.ActorSession, ID: fmt.Sprint("sesn_", id)}
	var own []memento.Path
	for n := 0; !w.stop.Load(); n++ {
		word := fmt.Sprintf("s%d-%d.", id, n)
		path := memento.Path(fmt.Sprintf("/own s%d-%d.md", id, n))
		var err error
		switch k := r.IntN(8); {
		case k == 0:
			if _, err = store.Apply(ctx, by, memento.Put{Path: path, Content: word + "\n", If: memento.IfAbsent()}); err == nil {
				w.wrote(word)
				own = append(own, path)
			}
		case k == 1 && len(own) > 0:
			i := r.IntN(len(own))
			if _, err = store.Apply(ctx, by, memento.Move{From: own[i], To: path}); err == nil {
				own[i] = path
			}
		case k == 2 && len(own) > 0:
			i := r.IntN(len(own))
			m, getErr := store.Peek(ctx, memento.ByPath(own[i]))
			if err = getErr; err == nil {
				w.removing(strings.TrimSpace(m.Content))
				_, err = store.Apply(ctx, by, memento.Remove{Path: own[i], If: memento.IfVersion(m.Version)})
			}
			own = slices.Delete(own, i, i+1)
		case k == 3:
			_, err = store.Apply(ctx, by, memento.Put{Path: memento.Path(fmt.Sprintf("/both-%d.md", n/10)), Content: word + "\n", If: memento.IfAbsent()})
			if err == nil {
				w.wrote(word)
			} else if errors.Is(err, memento.ErrExist) {
				err = nil
			}
		default:
			path = memento.Path(fmt.Sprintf("/shared-%d.md", r.IntN(sharedNotes)))
			insert := r.IntN(2) == 0
			_, err = store.Edit(ctx, by, path, func(old string) (string, error) {
				if insert { // after the first line, where the folder's writers write nothing
					first, rest, _ := strings.Cut(old, "\n")
					return first + "\n" + word + "\n" + rest, nil
				}
				return old + word + "\n", nil
			})
			if err == nil {
				w.wrote(word)
			}
		}
		if err != nil && !errors.Is(err, memento.ErrNotExist) && !errors.Is(err, memento.ErrConflict) {
			return fmt.Errorf("store: %w", err)
		}
		time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
	}
	return nil
}

// Four writers on each side edit the same notes, while the process that syncs is killed
// again and again. In the end both sides are the same, and every edit is there.
func TestWritersAndKills(t *testing.T) {
	const each = 4
	kills, pace := longtest.Scaled(5, 50), 2*time.Second // a minute in a long run
	database := filepath.Join(t.TempDir(), "m.db")
	b, err := sqlitestore.Open(t.Context(), database, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	p := pairIn(t, t.TempDir(), openStore(b))
	p.slow = true
	for i := range sharedNotes {
		p.write(fmt.Sprintf("shared-%d.md", i), "top\nend\n")
	}
	p.do(p.try())
	w := &writers{p: p, words: map[string]bool{}, errs: make(chan error, 2*each)}
	for i := range each {
		go func() { w.errs <- w.inFolder(i) }()
		go func() { w.errs <- w.inStore(t.Context(), i, openStore(b)) }()
	}
	start, done := time.Now(), map[string]int{}
	for range kills {
		c := proctest.Start(t, childTask{p.dir, p.state, database, "host"})
		// It is killed some time after it has done something.
		for n := rand.IntN(20); c.Lines.Scan(); n-- {
			done[c.Lines.Text()]++
			if n == 0 {
				defer time.AfterFunc(rand.N(pace), func() { _ = c.Process.Kill() }).Stop()
			}
		}
		if !c.Died(t) {
			t.Error("a sync ended by itself")
		}
	}
	w.stop.Store(true)
	for range 2 * each {
		p.do(<-w.errs)
	}
	lasted := time.Since(start).Round(time.Second)

	p.opts.Force = true
	p.do(p.try())
	p.slow = false
	files := p.files()
	p.both(files)
	all := strings.Join(slices.Collect(maps.Values(files)), "\n")
	lost := 0
	for word := range w.words {
		if !strings.Contains(all, word) {
			lost++
			t.Errorf("%s is lost", word)
		}
	}
	if len(done) < 4 {
		t.Errorf("the killed syncs have only done %v", done)
	}
	copies := 0
	for path := range files {
		if strings.Contains(path, conflictMark) {
			copies++
		}
	}
	t.Logf("%v, %d kills, actions of killed syncs: %v, %d edits, %d not removed on purpose, %d lost, %d notes, %d of them conflict copies",
		lasted, kills, done, w.total, len(w.words), lost, len(files), copies)
}
