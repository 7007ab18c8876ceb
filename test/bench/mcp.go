package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	filesPackage = "@modelcontextprotocol/server-filesystem"
	filesVersion = "2026.8.31" // as in mcp/package.json

	nameFiles = "server-filesystem"
	nameMCP   = "memento mcp"
	nameEcho  = "echo"
)

// mcpFigures are those of `memento mcp`.
type mcpFigures struct {
	calls []mcpRow

	view, echo callTimes // of one call in flight

	// From the start of the process, in milliseconds, the medians.
	started   float64 // to the answer to initialize
	firstView float64 // to the answer to the first view of a file

	idle   []idleFigures
	shared int     // processes of memento at once
	each   float64 // memory of each of them in MB, shared pages divided; 0 if unknown
}

// callTimes are in microseconds.
type callTimes struct {
	took      float64 // for the client, the median of all calls
	processor float64 // of the server, the mean; 0 if unknown
}

// An mcpRow is the calls a second of one operation with so many calls in flight.
type mcpRow struct {
	op       operation
	inFlight int
	rates    map[string]float64 // by server
}

// idleFigures are the memory of a server that waits for calls, in MB; 0 if unknown.
type idleFigures struct {
	name          string
	own, resident float64
}

// An mcpSide is a server and how its tools are called. Paths are those of notes.
type mcpSide struct {
	*mcpProcess
	view  func(path string) (tool string, arguments map[string]any)
	write func(path, text string) (tool string, arguments map[string]any)
	edit  func(path, old, new string) (tool string, arguments map[string]any)
	// remove removes notes, which is not measured.
	remove func(ctx context.Context, paths []string) error
	// text returns the contents of a note.
	text  func(ctx context.Context, path string) (string, error)
	rates map[mcpStep][]float64
}

type mcpStep struct {
	op       operation
	inFlight int
}

// benchmarkMCP compares `memento mcp` with the reference server for files, and with a server
// of the same SDK that does nothing.
func (b *bench) benchmarkMCP(ctx context.Context, r *report) (err error) {
	if r.machine.node, err = installPackage(ctx, b.mcpDir, filesPackage, filesVersion); err != nil {
		return err
	}
	r.machine.files = true
	f := &mcpFigures{}
	const files = 64
	w, err := newWorkload(b.seed, files, 16, counts{})
	if err != nil {
		return err
	}
	database := filepath.Join(b.work, "mcp.db")
	if err := fillFile(ctx, database, w.notes); err != nil {
		return err
	}
	memento := func() (*mcpProcess, error) {
		return startMCP(ctx, nameMCP, exec.CommandContext(ctx, b.binary, "--backend", "sqlite:"+database, "mcp"))
	}
	ours, err := memento()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.close()) }()
	theirs, err := b.startFiles(ctx, w.notes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, theirs.close()) }()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), echoEnv+"=1")
	echo, err := startMCP(ctx, nameEcho, cmd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, echo.close()) }()

	if f.calls, err = b.compareMCP(ctx, []*mcpSide{mementoSide(ours), theirs}, w.notes); err != nil {
		return err
	}
	if f.view, f.echo, err = b.compareWithEcho(ctx, ours, echo, w.notes); err != nil {
		return err
	}
	if f.started, f.firstView, err = b.startsOfMCP(ctx, memento, w.notes[0].path); err != nil {
		return err
	}
	if err := b.idleMCP(ctx, f, memento, w.notes[0].path, theirs.mcpProcess, echo); err != nil {
		return err
	}
	r.mcp = f
	return nil
}

// startFiles starts the reference server on a new folder with the notes.
func (b *bench) startFiles(ctx context.Context, notes []note) (*mcpSide, error) {
	root, err := filepath.EvalSymlinks(b.work)
	if err != nil {
		return nil, err
	}
	root = filepath.Join(root, "mcp-files")
	folder, err := newSDK(nil, root, notes)
	if err != nil {
		return nil, err
	}
	program := filepath.Join(b.mcpDir, "node_modules", filepath.FromSlash(filesPackage), "dist", "index.js")
	p, err := startMCP(ctx, nameFiles, exec.CommandContext(ctx, "node", program, root))
	if err != nil {
		return nil, err
	}
	at := func(path string) string { return filepath.Join(root, filepath.FromSlash(path)) }
	return &mcpSide{
		mcpProcess: p,
		view: func(path string) (string, map[string]any) {
			return "read_text_file", map[string]any{"path": at(path)}
		},
		write: func(path, text string) (string, map[string]any) {
			return "write_file", map[string]any{"path": at(path), "content": text}
		},
		edit: func(path, old, new string) (string, map[string]any) {
			return "edit_file", map[string]any{"path": at(path), "edits": []map[string]any{{"oldText": old, "newText": new}}}
		},
		remove: func(_ context.Context, paths []string) error {
			for _, path := range paths {
				if err := os.Remove(at(path)); err != nil {
					return err
				}
			}
			return nil
		},
		text: func(ctx context.Context, path string) (string, error) {
			all, err := folder.notes(ctx)
			return all[path], err
		},
		rates: map[mcpStep][]float64{},
	}, nil
}

func mementoSide(p *mcpProcess) *mcpSide {
	tool := func(arguments map[string]any) (string, map[string]any) { return "memory", arguments }
	return &mcpSide{
		mcpProcess: p,
		view: func(path string) (string, map[string]any) {
			return tool(map[string]any{"command": "view", "path": path})
		},
		write: func(path, text string) (string, map[string]any) {
			return tool(map[string]any{"command": "create", "path": path, "file_text": text})
		},
		edit: func(path, old, new string) (string, map[string]any) {
			return tool(map[string]any{"command": "str_replace", "path": path, "old_str": old, "new_str": new})
		},
		remove: func(ctx context.Context, paths []string) error {
			for _, path := range paths {
				if _, err := p.call(ctx, "memory", map[string]any{"command": "delete", "path": path}); err != nil {
					return err
				}
			}
			return nil
		},
		text: func(ctx context.Context, path string) (string, error) {
			shown, err := p.call(ctx, "memory", map[string]any{"command": "view", "path": path})
			return unnumbered(shown), err
		},
		rates: map[mcpStep][]float64{},
	}
}

// unnumbered returns the text of a file that a view shows with line numbers.
func unnumbered(shown string) string {
	_, numbered, _ := strings.Cut(shown, "\n") // after the heading
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimSuffix(numbered, "\n"), "\n") {
		_, text, _ := strings.Cut(line, "\t")
		b.WriteString(text + "\n")
	}
	return b.String()
}

// compareMCP has the servers take turns at each step, with one call in flight and with 16.
// Each in-flight call has files of its own: the reference server loses one of two edits of
// one file.
func (b *bench) compareMCP(ctx context.Context, sides []*mcpSide, notes []note) ([]mcpRow, error) {
	var steps []mcpStep
	for _, op := range []operation{viewFile, create, strReplace} {
		for _, n := range []int{1, 16} {
			steps = append(steps, mcpStep{op, n})
		}
	}
	for round := range b.rounds + 1 {
		fmt.Fprintf(b.progress, "round %d of %d: calls over the Model Context Protocol\n", round, b.rounds)
		for _, s := range steps {
			for _, side := range sides {
				syncDisk()
				m, err := b.playMCP(ctx, side, s, round, notes)
				if err != nil {
					return nil, fmt.Errorf("%s, %s: %w", side.name, s.op, err)
				}
				if round > 0 { // the first is a warm-up
					side.rates[s] = append(side.rates[s], m.perSecond())
				}
			}
		}
		slices.Reverse(sides) // so that the order favors nobody
	}
	var rows []mcpRow
	for _, s := range steps {
		r := mcpRow{s.op, s.inFlight, map[string]float64{}}
		for _, side := range sides {
			r.rates[side.name] = median(side.rates[s])
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// playMCP makes the calls of one step, and checks what they did.
func (b *bench) playMCP(ctx context.Context, side *mcpSide, s mcpStep, round int, notes []note) (measure, error) {
	calls := b.counts(len(notes), s.inFlight).writes / s.inFlight
	call := func(tool string, arguments map[string]any) error {
		_, err := side.call(ctx, tool, arguments)
		return err
	}
	own := func(caller int) []note {
		var own []note
		for i := caller; i < len(notes); i += s.inFlight {
			own = append(own, notes[i])
		}
		return own
	}
	sample := notes[0]
	switch s.op {
	case viewFile:
		m, err := repeatCalls(s.inFlight, b.readTime(), func(caller int) (int, error) {
			own := own(caller)
			for i := range calls {
				if err := call(side.view(own[i%len(own)].path)); err != nil {
					return 0, err
				}
			}
			return calls, nil
		})
		return m, errors.Join(err, side.holds(ctx, sample.path, sample.text))
	case create:
		rng := rand.New(rand.NewPCG(b.seed, uint64(round)))
		fresh := make([][]note, s.inFlight)
		var paths []string
		for caller := range fresh {
			for i := range calls {
				name := fmt.Sprintf("fresh-%d-%d-%d", round, caller, i)
				n := note{fmt.Sprintf("%s/%s.md", directory(len(notes), i), name), newNote(rng, name)}
				fresh[caller], paths = append(fresh[caller], n), append(paths, n.path)
			}
		}
		m, err := repeatCalls(s.inFlight, 0, func(caller int) (int, error) {
			for _, n := range fresh[caller] {
				if err := call(side.write(n.path, n.text)); err != nil {
					return 0, err
				}
			}
			return calls, nil
		})
		if err == nil {
			err = side.holds(ctx, fresh[0][0].path, fresh[0][0].text)
		}
		return m, errors.Join(err, side.remove(ctx, paths))
	default:
		m, err := repeatCalls(s.inFlight, 0, func(caller int) (int, error) {
			own := own(caller)
			for i := range calls {
				old, new := statePending, stateDone
				if i/len(own)%2 == 1 {
					old, new = new, old
				}
				if err := call(side.edit(own[i%len(own)].path, old, new)); err != nil {
					return 0, err
				}
			}
			return calls, nil
		})
		if err != nil {
			return m, err
		}
		// Back to where it was, as the next round expects.
		for caller := range s.inFlight {
			own := own(caller)
			for i, n := range own {
				edits := calls / len(own)
				if i < calls%len(own) {
					edits++
				}
				if edits%2 == 1 {
					if err := call(side.edit(n.path, stateDone, statePending)); err != nil {
						return m, err
					}
				}
			}
		}
		return m, side.holds(ctx, sample.path, sample.text)
	}
}

// holds checks that a note has a text, which shows that the server did its work.
func (side *mcpSide) holds(ctx context.Context, path, want string) error {
	got, err := side.text(ctx, path)
	if err == nil && got != want {
		err = fmt.Errorf("%s holds another text: %q", path, got)
	}
	return err
}

// compareWithEcho returns what a view of a file takes, and a call of the server that does
// nothing.
func (b *bench) compareWithEcho(ctx context.Context, ours, echo *mcpProcess, notes []note) (view, nothing callTimes, err error) {
	fmt.Fprintln(b.progress, "a view over the Model Context Protocol, and an echo")
	calls := b.counts(len(notes), 1).views
	var views, echoes []float64
	took := func(p *mcpProcess, tool string, arguments map[string]any) (float64, error) {
		begun := time.Now()
		_, err := p.call(ctx, tool, arguments)
		return float64(time.Since(begun).Nanoseconds()) / 1000, err
	}
	ofOurs, ofEcho := processorTime(ours.cmd.Process.Pid), processorTime(echo.cmd.Process.Pid)
	for i := range calls * b.rounds { // in turns, so that a busy machine is busy for both
		v, err := took(ours, "memory", map[string]any{"command": "view", "path": notes[i%len(notes)].path})
		if err != nil {
			return view, nothing, err
		}
		e, err := took(echo, "echo", map[string]any{"text": "x"})
		if err != nil {
			return view, nothing, err
		}
		views, echoes = append(views, v), append(echoes, e)
	}
	each := func(p *mcpProcess, before time.Duration) float64 {
		return float64((processorTime(p.cmd.Process.Pid) - before).Microseconds()) / float64(len(views))
	}
	return callTimes{median(views), each(ours, ofOurs)}, callTimes{median(echoes), each(echo, ofEcho)}, nil
}

// startsOfMCP returns the median times from the start of the program to its first answer,
// and to the first view of a file, in milliseconds.
func (b *bench) startsOfMCP(ctx context.Context, start func() (*mcpProcess, error), path string) (first, view float64, err error) {
	fmt.Fprintln(b.progress, "the start of memento mcp")
	starts := 20
	if b.quick {
		starts = 3
	}
	var firsts, views []float64
	for range starts {
		begun := time.Now()
		p, err := start()
		if err != nil {
			return 0, 0, err
		}
		_, err = p.call(ctx, "memory", map[string]any{"command": "view", "path": path})
		views = append(views, float64(time.Since(begun).Microseconds())/1000)
		firsts = append(firsts, float64(p.started.Microseconds())/1000)
		if err := errors.Join(err, p.close()); err != nil {
			return 0, 0, err
		}
	}
	return median(firsts), median(views), nil
}

// idleTime is how long the servers have not been used when their memory is measured.
const idleTime = 5 * time.Second

// idleMCP measures the memory of idle servers, whose clients have listed the tools, and
// have called one; and of several at once, which share the pages of the program.
func (b *bench) idleMCP(ctx context.Context, f *mcpFigures, start func() (*mcpProcess, error), path string, others ...*mcpProcess) (err error) {
	f.shared = 10
	var started []*mcpProcess
	defer func() {
		for _, p := range started {
			err = errors.Join(err, p.close())
		}
	}()
	for range f.shared {
		p, err := start()
		if err != nil {
			return err
		}
		started = append(started, p)
		if _, err := p.ask(ctx, "tools/list", map[string]any{}); err != nil {
			return err
		}
		if _, err := p.call(ctx, "memory", map[string]any{"command": "view", "path": path}); err != nil {
			return err
		}
	}
	time.Sleep(idleTime)
	measured := append([]*mcpProcess{started[0]}, others...)
	for _, p := range measured {
		own, resident, _ := residentMemory(p.cmd.Process.Pid)
		f.idle = append(f.idle, idleFigures{p.name, float64(own) / 1e6, float64(resident) / 1e6})
	}
	var sum int64
	for _, p := range started {
		_, _, proportional := residentMemory(p.cmd.Process.Pid)
		sum += proportional
	}
	f.each = float64(sum) / float64(f.shared) / 1e6
	return nil
}

// echoEnv is set in the process that is the echo server.
const echoEnv = "MEMENTO_BENCH_ECHO"

// serveEcho is that process: what a server of the SDK costs that does nothing.
func serveEcho(ctx context.Context) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "echo", InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(req.Params.Arguments)}}}, nil
	})
	return s.Run(ctx, &mcp.StdioTransport{})
}
