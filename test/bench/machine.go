package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// A machine is what the figures depend on. Nothing in it identifies the machine.
type machine struct {
	memoryGB   int // 0 if unknown
	fileSystem string
	node       string // "" if nothing in Node was measured
	sdk        bool   // whether the SDK was measured
	files      bool   // whether the MCP server for files was
}

func describeMachine(dir string) machine {
	return machine{memoryGB: memoryGB(), fileSystem: fileSystem(dir)}
}

func (m machine) String() string {
	memory, node := "", ""
	if m.memoryGB > 0 {
		memory = fmt.Sprintf(", %d GB of memory", m.memoryGB)
	}
	if m.node != "" {
		node = ", Node " + m.node
	}
	if m.sdk {
		node += ", " + sdkPackage + " " + sdkVersion
	}
	if m.files {
		node += ", " + filesPackage + " " + filesVersion
	}
	return fmt.Sprintf("%d cores%s, %s, %s; Go %s%s", runtime.NumCPU(), memory, kernel(), m.fileSystem, strings.TrimPrefix(runtime.Version(), "go"), node)
}

func kernel() string {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return runtime.GOOS + "/" + runtime.GOARCH
	}
	return "Linux " + strings.TrimSpace(string(release)) + " " + runtime.GOARCH
}

func memoryGB() int {
	info, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(info)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "MemTotal:" {
			kb, _ := strconv.Atoi(fields[1])
			return (kb + 1<<19) >> 20
		}
	}
	return 0
}

// fileSystem returns the type of the file system that dir is in: that of the
// longest mount point leading to it.
func fileSystem(dir string) string {
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	best, kind := "", "unknown file system"
	for line := range strings.Lines(string(mounts)) {
		left, right, ok := strings.Cut(line, " - ")
		at, what := strings.Fields(left), strings.Fields(right)
		if !ok || len(at) < 5 || len(what) < 1 {
			continue
		}
		point := at[4]
		rel, err := filepath.Rel(point, dir)
		if err == nil && filepath.IsLocal(rel) && len(point) >= len(best) {
			best, kind = point, what[0]
		}
	}
	return kind
}
