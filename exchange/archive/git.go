package archive

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"unicode"

	"memento"
)

// GitOptions are the options of [WriteGit]; nil means all defaults.
type GitOptions struct {
	// Author returns the name that an actor has in a commit; nil means Actor.String.
	Author func(memento.Actor) string
	// Progress, if not nil, is called after each version with the number written so far.
	Progress func(done int)
}

// WriteGit writes the history of the store to w as a stream for "git fast-import": a
// commit on the branch main for each version, by its actor, at its time. A commit's message
// names the version and the memory. Each line of the stream is Git's, so the result needs
// no program of memento's.
//
// Versions that were redacted are commits without changes. Memories whose names Git does
// not allow are left out, and named in Summary.Skipped.
//
// Errors: ErrNoStore; those of the store and of w. After an error the stream has no "done"
// at its end, so that "git fast-import --done" refuses it.
func WriteGit(ctx context.Context, w io.Writer, store *memento.Store, opts *GitOptions) (Summary, error) {
	g := gitWriter{out: bufio.NewWriterSize(w, 64<<10), paths: map[memento.MemoryID]memento.Path{}, owners: map[memento.Path]memento.MemoryID{}, sizes: map[memento.MemoryID]int64{}, skipped: map[memento.Path]bool{}}
	if opts != nil {
		g.opts = *opts
	}
	if g.opts.Author == nil {
		g.opts.Author = memento.Actor.String
	}
	if g.opts.Progress == nil {
		g.opts.Progress = func(int) {}
	}
	if _, err := store.Info(ctx); err != nil {
		return Summary{}, err
	}
	g.print("feature done\nreset refs/heads/main\n")
	for v, err := range store.Versions(ctx, memento.VersionListOptions{OldestFirst: true, Contents: true}) {
		if err != nil {
			return Summary{}, err
		}
		if err := g.commit(v); err != nil {
			return Summary{}, err
		}
		g.sum.Versions++
		g.opts.Progress(g.sum.Versions)
	}
	g.print("done\n")
	if err := g.out.Flush(); err != nil {
		return Summary{}, err
	}
	g.sum.Memories = len(g.owners)
	return g.sum, nil
}

// A gitWriter writes one stream. It remembers where each memory is.
type gitWriter struct {
	out     *bufio.Writer // remembers the first error
	opts    GitOptions
	sum     Summary
	paths   map[memento.MemoryID]memento.Path
	owners  map[memento.Path]memento.MemoryID
	sizes   map[memento.MemoryID]int64
	skipped map[memento.Path]bool
}

func (g *gitWriter) print(format string, args ...any) {
	fmt.Fprintf(g.out, format, args...)
}

func (g *gitWriter) data(text string) { g.print("data %d\n%s\n", len(text), text) }

func (g *gitWriter) commit(v memento.Version) error {
	before, known := g.paths[v.Memory]
	who := gitPerson(g.opts.Author(v.CreatedBy), v.CreatedBy)
	g.print("commit refs/heads/main\n")
	for _, role := range []string{"author", "committer"} {
		g.print("%s %s %d +0000\n", role, who, v.CreatedAt.Unix())
	}
	g.data(gitMessage(v, before))
	removed := v.Operation == memento.Deleted
	if known && (removed || !v.Redacted() && before != v.Path) {
		delete(g.paths, v.Memory)
		if g.owners[before] == v.Memory { // another may have its place in the same change
			delete(g.owners, before)
			g.sum.Bytes -= g.sizes[v.Memory]
			delete(g.sizes, v.Memory)
			g.print("D %s\n", gitPath(before))
		}
	}
	if removed || v.Redacted() {
		_, err := g.out.WriteString("\n")
		return err
	}
	if !gitAllows(v.Path) {
		if !g.skipped[v.Path] {
			g.skipped[v.Path] = true
			g.sum.Skipped = append(g.sum.Skipped, Skipped{string(v.Path[1:]), "git does not allow this name"})
		}
		_, err := g.out.WriteString("\n")
		return err
	}
	g.paths[v.Memory], g.owners[v.Path] = v.Path, v.Memory
	g.sum.Bytes += v.Size - g.sizes[v.Memory]
	g.sizes[v.Memory] = v.Size
	g.print("M 100644 inline %s\n", gitPath(v.Path))
	g.data(v.Content)
	_, err := g.out.WriteString("\n")
	return err
}

// gitMessage returns the message of the commit for a version. before is where the memory
// was; "" if it is not known.
func gitMessage(v memento.Version, before memento.Path) string {
	var subject string
	switch {
	case v.Redacted():
		subject = "Redacted"
	case v.Operation == memento.Deleted:
		subject = "Remove " + string(v.Path)
	case v.Operation == memento.Created:
		subject = "Create " + string(v.Path)
	case before != "" && before != v.Path:
		subject = "Rename " + string(before) + " to " + string(v.Path)
	default:
		subject = "Change " + string(v.Path)
	}
	return fmt.Sprintf("%s\n\nMemento-Version: %s\nMemento-Memory: %s\n", subject, v.ID, v.Memory)
}

// gitPerson returns a name and an address in Git's form. The address is one that no mail
// reaches, and is the same for the same actor.
func gitPerson(name string, by memento.Actor) string {
	clean := func(keep func(rune) bool, text string) string {
		return strings.TrimSpace(strings.Map(func(r rune) rune {
			if keep(r) {
				return r
			}
			return '-'
		}, text))
	}
	name = clean(func(r rune) bool { return unicode.IsPrint(r) && !strings.ContainsRune("<>", r) }, name)
	if name == "" {
		name = "unknown"
	}
	local := clean(func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._-+", r)
	}, strings.Trim(string(by.Kind)+"."+by.ID, "."))
	if local == "" {
		local = "unknown"
	}
	return name + " <" + local + "@memento.invalid>"
}

// gitPath returns a path in Git's form: quoted, since names can begin with quotes.
func gitPath(p memento.Path) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(string(p[1:])) + `"`
}

// gitAllows reports whether Git can check out a path: names that some system takes for
// ".git" would be part of the repository's own files.
func gitAllows(p memento.Path) bool {
	// Windows takes backslashes for slashes, and what follows a colon for a stream.
	for name := range strings.FieldsFuncSeq(strings.ToLower(string(p)), func(r rune) bool { return r == '/' || r == '\\' }) {
		name, _, _ = strings.Cut(name, ":")
		name = strings.TrimRight(name, ". ")
		if name == ".git" || strings.HasPrefix(name, "git~") {
			return false
		}
	}
	return true
}
