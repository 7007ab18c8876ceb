//go:build linux && faults

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/backend/storeurl"
	"memento/test/proctest"
)

const (
	smallMemory = 256 << 20         // bytes of the container
	abuseLasts  = 12 * time.Second  // how long callers go on
	settleTime  = 30 * time.Second  // for memory to be given back
	abuseAnswer = 100 * time.Second // for any answer to come: all callers at once are more than two processors like
)

// A container is a control group with little memory, or just a promise to take no
// more if none can be made here.
type container struct{ dir, procs string }

// newContainer makes a control group of version 1 or 2.
func newContainer(t *testing.T) *container {
	t.Helper()
	var parents []string
	if own, err := os.ReadFile("/proc/self/cgroup"); err == nil {
		for line := range strings.Lines(string(own)) {
			if _, path, ok := strings.Cut(strings.TrimSpace(line), ":memory:"); ok {
				parents = append(parents, filepath.Join("/sys/fs/cgroup/memory", path))
			}
		}
	}
	parents = append(parents, "/sys/fs/cgroup/memory", "/sys/fs/cgroup")
	for _, parent := range parents {
		dir := filepath.Join(parent, fmt.Sprint("memento-abuse-", os.Getpid()))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		for _, file := range []string{"memory.limit_in_bytes", "memory.max"} {
			f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
			if err != nil {
				continue
			}
			_, err = fmt.Fprint(f, smallMemory)
			if err = errors.Join(err, f.Close()); err == nil {
				_ = os.WriteFile(filepath.Join(dir, "memory.swap.max"), []byte("0"), 0)
				t.Cleanup(func() { proctest.Until(t, "the control group is empty", func() bool { return os.Remove(dir) == nil }) })
				t.Logf("in the control group %s", dir)
				return &container{dir, filepath.Join(dir, "cgroup.procs")}
			}
		}
		_ = os.Remove(dir)
	}
	t.Logf("no control group can be made here: the memory of the process is measured instead")
	return &container{}
}

// command is one that runs in the container.
func (c *container) command(t *testing.T, name string, args ...string) *exec.Cmd {
	if c.procs == "" {
		cmd := exec.CommandContext(t.Context(), name, append(args, "--memory-budget", "96M")...)
		cmd.Env = append(os.Environ(), "GOMEMLIMIT=180MiB")
		return cmd
	}
	script := `echo $$ > "$0" && exec "$@"`
	return exec.CommandContext(t.Context(), "sh", append([]string{"-c", script, c.procs, name}, args...)...)
}

// memoryOf returns a line of /proc/PID/status, in bytes.
func memoryOf(t *testing.T, pid int, name string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatalf("the server is gone: %v", err)
	}
	_, rest, _ := strings.Cut(string(text), name+":")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		t.Fatalf("the server has no %s: it has ended", name)
	}
	n, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}

// An abuser talks to the server without a client, which would cost more than the
// server does.
type abuser struct {
	t       *testing.T
	address string
	over    time.Time

	mu       sync.Mutex
	statuses map[string]int // by what was done
}

// open sends the beginning of a request.
func (a *abuser) open(key, request string, length int) net.Conn {
	c, err := net.Dial("tcp", a.address)
	if err != nil {
		a.t.Error(err)
		return nil
	}
	_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
	_ = c.SetDeadline(time.Now().Add(abuseAnswer))
	_, _ = fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: localhost\r\nx-api-key: %s\r\nContent-Type: application/json\r\n", request, key)
	if length > 0 {
		_, _ = fmt.Fprintf(c, "Content-Length: %d\r\n", length)
	}
	_, _ = io.WriteString(c, "\r\n")
	return c
}

// heard notes the status of an answer, and returns it.
func (a *abuser) heard(what string, c net.Conn) int {
	status := 0
	if r, err := http.ReadResponse(bufio.NewReaderSize(c, 512), nil); err == nil {
		status = r.StatusCode
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.statuses[fmt.Sprint(what, " ", status)]++
	return status
}

// post sends a body as fast as the server takes it.
func (a *abuser) post(what, key, path string, body []byte) {
	for time.Now().Before(a.over) {
		c := a.open(key, "POST "+path, len(body))
		if c == nil {
			return
		}
		go func() { _, _ = c.Write(body) }() // which ends with the connection
		status := a.heard(what, c)
		c.Close()
		if status == 529 {
			time.Sleep(time.Second) // as it was told
			continue
		}
		return
	}
}

// read asks for much, and takes it slowly.
func (a *abuser) read(what, key, path string) {
	for time.Now().Before(a.over) {
		c := a.open(key, "GET "+path, 0)
		if c == nil {
			return
		}
		status := a.heard(what, c)
		for status == http.StatusOK && time.Now().Before(a.over) {
			time.Sleep(200 * time.Millisecond)
			if _, err := c.Read(make([]byte, 256)); err != nil {
				break
			}
		}
		c.Close()
		time.Sleep(time.Second)
	}
}

// drip sends a body a byte at a time.
func (a *abuser) drip(what, key, path string) {
	const length = 2000
	for time.Now().Before(a.over) {
		c := a.open(key, "POST "+path, length)
		if c == nil {
			return
		}
		for time.Now().Before(a.over) {
			if _, err := c.Write([]byte(" ")); err != nil {
				break
			}
			time.Sleep(250 * time.Millisecond)
		}
		c.Close()
	}
}

// A patient victim measures how long its requests take.
type victim struct {
	mu    sync.Mutex
	took  []time.Duration
	wrong map[int]int // answers, by status; 0 is none
}

func (v *victim) ask(url, key string, until time.Time) {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for time.Now().Before(until) {
		r, err := http.NewRequest("GET", url, nil)
		if err != nil {
			panic(err)
		}
		r.Header.Set("x-api-key", key)
		start, status := time.Now(), 0
		if answer, err := client.Do(r); err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
			status = answer.StatusCode
		}
		took := time.Since(start)
		v.mu.Lock()
		v.took = append(v.took, took)
		if status != http.StatusOK {
			v.wrong[status]++
		}
		v.mu.Unlock()
		time.Sleep(5 * time.Millisecond)
	}
}

// quantile returns a time that a share of the requests took at most.
func (v *victim) quantile(q float64) time.Duration {
	slices.Sort(v.took)
	return v.took[int(q*float64(len(v.took)-1))]
}

// A server with 256 MB of memory survives what two keys of one workspace can ask of it
// at once: large bodies, unknown fields, slow readers of exports and slow bodies.
// Meanwhile another workspace is served as if nothing were, and afterwards the memory
// is given back.
func TestFaultAbuse(t *testing.T) {
	binary, url := buildBinary(t), database(t) // built first: what was compiled is cached at home
	dataHome(t)
	b, err := storeurl.Open(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	key := func(ws memento.Workspace) string {
		k, secret, err := apikey.New(ws, "abuse", apikey.RoleAdmin, time.Now(), time.Time{})
		if err == nil {
			err = b.(apikey.Keeper).AddKey(t.Context(), k)
		}
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	off := memento.DefaultSettings()
	off.Sensitive.Mode = memento.Off
	controlURL := database(t)
	another, err := storeurl.Open(t.Context(), controlURL, nil)
	if err != nil {
		t.Fatal(err)
	}
	fill := func(b memento.Backend, ws memento.Workspace, memories, size int) string {
		s := memento.OpenNamed(b, ws, memento.StoreSpec{Name: "s", Settings: &off}, nil)
		r := rand.New(rand.NewPCG(1, 2))
		for i := range memories {
			text := make([]byte, size)
			for j := range text {
				text[j] = byte(' ' + 1 + r.IntN(90)) // which compresses badly
			}
			if _, err := s.CreateMemory(t.Context(), memento.Actor{}, memento.Path(fmt.Sprintf("/n%d.md", i)), string(text)); err != nil {
				t.Fatal(err)
			}
		}
		id, err := s.ID(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return "/v1/memory_stores/" + string(id)
	}
	keys, other := []string{key("abuser"), key("abuser")}, key("victim")
	large, small := fill(b, "abuser", 100, 100_000), fill(b, "victim", 10, 1000)
	control := fill(another, memento.DefaultWorkspace, 10, 1000)
	if err := errors.Join(b.Close(), another.Close()); err != nil {
		t.Fatal(err)
	}

	box := newContainer(t)
	cmd := box.command(t, binary, "serve", "--json", "--address", "127.0.0.1:0", "--metrics", "off", "--log-level", "error", "--backend", url)
	said := &proctest.Buffer{}
	cmd.Stderr = said
	var at struct{ URL, Address string }
	if err := proctest.Serve(t.Context(), cmd, &at); err != nil {
		t.Fatalf("%v; on standard error: %s", err, said)
	}
	ended := false
	defer func() {
		if !ended {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}()
	pid := cmd.Process.Pid

	// What other programs on this machine, and the callers, make everything wait for is
	// measured by a server that nobody abuses.
	idle := serve(t, "--backend", controlURL)
	controlAt := idle.at.URL + control + "/memories/by-path?path=/n1.md&peek=true"
	victimURL := at.URL + small + "/memories/by-path?path=/n1.md&peek=true"

	// Before: the server is warm, and has read all of both stores.
	calm := &victim{wrong: map[int]int{}}
	calm.ask(victimURL, other, time.Now().Add(time.Second))
	for range 4 {
		warm := &victim{wrong: map[int]int{}}
		warm.ask(at.URL+large+"/export", keys[0], time.Now().Add(time.Millisecond))
	}
	time.Sleep(3 * time.Second)
	before := memoryOf(t, pid, "VmRSS")

	a := &abuser{t: t, address: at.Address, over: time.Now().Add(abuseLasts), statuses: map[string]int{}}
	big := []byte(`{"path":"/big.md","content":"` + strings.Repeat("x", 4_000_000) + `"}`)
	var unknown strings.Builder
	unknown.WriteByte('{')
	for i := 0; unknown.Len() < 36_000_000; i++ {
		fmt.Fprintf(&unknown, `"field%d":%d,`, i, i)
	}
	unknown.WriteString(`"last":0}`)
	fields := []byte(unknown.String())
	var callers sync.WaitGroup
	suffering := &victim{wrong: map[int]int{}}
	unharmed := &victim{wrong: map[int]int{}}
	for range 2 {
		callers.Go(func() { suffering.ask(victimURL, other, a.over) })
		callers.Go(func() { unharmed.ask(controlAt, idle.key, a.over) })
	}
	for i := range 100 {
		callers.Go(func() { a.post("large body", keys[i%2], large+"/memories", big) })
	}
	for i := range 16 {
		callers.Go(func() { a.post("unknown fields", keys[i%2], large+"/changes", fields) })
	}
	for range 192 {
		callers.Go(func() { a.read("export", keys[0], large+"/export") })
	}
	for i := range 256 {
		callers.Go(func() { a.drip("slow body", keys[i%2], large+"/memories") })
	}
	callers.Wait()
	peak := memoryOf(t, pid, "VmHWM")
	t.Logf("memory %d MB before, %d MB at most; answers %v", before>>20, peak>>20, a.statuses)
	if peak > smallMemory {
		t.Errorf("the server took %d MB of memory; want at most %d", peak>>20, smallMemory>>20)
	}
	if a.statuses["export 200"] == 0 || a.statuses["large body 400"] == 0 {
		t.Errorf("nothing of this was served: %v", a.statuses)
	}
	for what := range a.statuses {
		if strings.HasSuffix(what, " 0") || strings.HasSuffix(what, " 500") {
			t.Errorf("answers: %v", a.statuses)
			break
		}
	}

	median, p99 := suffering.quantile(0.5), suffering.quantile(0.99)
	idleMedian, idleP99 := unharmed.quantile(0.5), unharmed.quantile(0.99)
	t.Logf("%d requests of another workspace: median %v, 99 %% within %v, longest %v; before, median %v; of a server that nobody abuses, median %v, 99 %% within %v",
		len(suffering.took), median, p99, suffering.quantile(1), calm.quantile(0.5), idleMedian, idleP99)
	if median > 20*time.Millisecond+idleMedian || p99 > 200*time.Millisecond+idleP99 {
		t.Errorf("another workspace waits %v, 1 %% of its requests %v or longer; want at most 20ms and 200ms, and what the machine has all wait", median, p99)
	}
	if len(suffering.wrong) > 0 {
		t.Errorf("another workspace is answered with %v", suffering.wrong)
	}

	most := before + before*3/10
	after := memoryOf(t, pid, "VmRSS")
	for end := time.Now().Add(settleTime); after > most && time.Now().Before(end); after = memoryOf(t, pid, "VmRSS") {
		time.Sleep(250 * time.Millisecond)
	}
	t.Logf("memory %d MB afterwards", after>>20)
	if after > most {
		t.Errorf("%d MB of memory after all that; there were %d MB", after>>20, before>>20)
	}
	ended = true
	if err := proctest.Interrupt(cmd); err != nil {
		t.Errorf("the server ended with %v; it said %s", err, said)
	}
}
