package services

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// keeperScript is the parent of a server. It runs the command given to it, and
// sends it the signals whose names it reads. At the end of its input, which is
// also what the death of this process brings about, it stops the server with the
// signal $1: again and again, since one that comes before the server can handle
// it is lost. It closes its output when the server has ended, and then, unless
// the last word is to leave it, removes the folder $2.
const keeperScript = `
stop=$1 folder=$2 log=$3
shift 3
exec 3<&0
"$@" </dev/null >>"$log" 2>&1 3<&- &
server=$!
{
	while read -r signal; do kill -s "$signal" $server; done
	while kill -s "$stop" $server; do sleep 1; done
} <&3 >/dev/null 2>&1 &
watch=$!
trap "" PIPE # if nobody is there to listen
echo $server
wait $server
kill $watch
wait $watch
exec >/dev/null 2>&1
last=
while read -r word; do last=$word; done
[ "$last" = leave ] || rm -rf "$folder"
`

// A keeper is a running server and the shell that ends it when this process ends. The
// server and its shell are in a session of their own, so that an interrupt at the
// terminal goes to this process only.
//
// It has no goroutines, so that tests can look for leaked ones.
type keeper struct {
	cmd    *exec.Cmd
	orders *os.File // names of signals
	said   *os.File // ends with the server
	log    string   // a file
	pid    int      // of the server
}

// keep starts a server with a folder: its working directory, with its output in the file
// log. stop is the name of the signal that ends it.
func keep(folder, stop string, owner *account, env []string, command ...string) (*keeper, error) {
	input, orders, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer input.Close()
	said, output, err := os.Pipe()
	if err != nil {
		orders.Close()
		return nil, err
	}
	defer output.Close()
	k := &keeper{orders: orders, said: said, log: filepath.Join(folder, "log")}
	k.cmd = exec.Command("/bin/sh", append([]string{"-c", keeperScript, "keeper", stop, folder, k.log}, command...)...)
	k.cmd.Stdin, k.cmd.Stdout, k.cmd.Dir = input, output, folder
	k.cmd.Env = append(os.Environ(), env...)
	err = isolate(k.cmd, owner)
	if err == nil {
		err = k.cmd.Start()
	}
	if err != nil {
		orders.Close()
		said.Close()
		return nil, err
	}
	line, err := bufio.NewReader(said).ReadString('\n')
	if err == nil {
		k.pid, err = strconv.Atoi(strings.TrimSpace(line))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the shell that keeps %s: %w", filepath.Base(command[0]), err), k.end(stop, true))
	}
	return k, nil
}

// ended reports whether the server has ended. It waits for at most the given time.
func (k *keeper) ended(moment time.Duration) bool {
	k.said.SetReadDeadline(time.Now().Add(moment))
	_, err := k.said.Read(make([]byte, 1))
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

// waitTimeout is the maximum time for a server to start or to stop on a busy machine.
const waitTimeout = 2 * time.Minute

// end stops the server with a signal, and waits until it has ended. Its folder is kept if
// leave is true, and removed otherwise.
func (k *keeper) end(signal string, leave bool) error {
	k.orders.WriteString(signal + "\n") // fails if it has ended already
	stopped := k.ended(waitTimeout)
	if !stopped {
		k.orders.WriteString("KILL\n")
		k.ended(waitTimeout)
	}
	if leave {
		k.orders.WriteString("leave\n")
	}
	k.orders.Close()
	k.said.Close()
	k.cmd.Wait() // its status is that of the script's last command
	if !stopped {
		return fmt.Errorf("the server did not stop within %s of SIG%s and was killed", waitTimeout, signal)
	}
	return nil
}

// await waits until ready returns true. If the server ends before, or takes too long, the
// error has the end of its log.
func (k *keeper) await(ctx context.Context, ready func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	for !ready() {
		if k.ended(20 * time.Millisecond) {
			return fmt.Errorf("it ended at once: %s", tail(k.log))
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("it does not answer: %w: %s", err, tail(k.log))
		}
	}
	return nil
}

// tail returns the last lines of a log.
func tail(log string) string {
	f, err := os.Open(log)
	if err != nil {
		return "it has no log"
	}
	defer f.Close()
	const enough = 2000 // bytes
	if info, err := f.Stat(); err == nil && info.Size() > enough {
		f.Seek(-enough, io.SeekEnd)
	}
	text, _ := io.ReadAll(f)
	return strings.TrimSpace(string(text))
}
