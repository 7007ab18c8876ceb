package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
)

// A process answers each line on its standard input by one on its standard output.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Reader
}

func startProcess(cmd *exec.Cmd) (*process, error) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &process{cmd: cmd, stdin: stdin, out: bufio.NewReaderSize(stdout, 64*1024)}, nil
}

// ask writes a line, which ends in a newline, and returns the line that answers it.
func (p *process) ask(line []byte) ([]byte, error) {
	if _, err := p.stdin.Write(line); err != nil {
		return nil, err
	}
	answer, err := p.out.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	}
	return answer, err
}

// close closes the input of the process, upon which it ends, and waits for it.
func (p *process) close() error {
	p.stdin.Close()
	return p.cmd.Wait()
}
