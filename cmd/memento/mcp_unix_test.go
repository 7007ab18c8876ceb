//go:build unix

package main

import (
	"bufio"
	"io"
	"os/exec"
	"testing"
	"time"
)

// The program ends when the client that has started it dies, whatever the client does last.
func TestMCPClientDies(t *testing.T) {
	client := exec.Command("sh", "-c", `mkfifo in && { memento --backend mem: mcp <in & } && exec 3>in && printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"ping"}' '{"half' >&3 && read wait`)
	client.Dir = t.TempDir()
	keep, err := client.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer keep.Close()
	out, err := client.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil {
		t.Fatalf("the first answer is %q, %v", line, err)
	}
	if err := client.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, lines) // until nobody has the other end of the pipe
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the program is still there")
	}
	_ = client.Wait()
}
