package main

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// unmapProgram removes the pages of the program's file from the process. The system maps
// many around each that is used, and most were used only at the start. One that is used
// again is found in the system's cache of files.
func unmapProgram() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return err
	}
	defer smaps.Close()
	ranges, err := unchangedRanges(smaps, program)
	for _, r := range ranges {
		if _, _, errno := syscall.Syscall(syscall.SYS_MADVISE, r.start, r.end-r.start, syscall.MADV_DONTNEED); errno != 0 {
			return errno
		}
	}
	return err
}

// An addressRange is memory from an address to before another.
type addressRange struct{ start, end uintptr }

// unchangedRanges returns where a file is mapped that cannot be written to, and has no page
// that differs from the file, such as one with addresses that were filled in at the start.
// smaps is in the format of /proc/PID/smaps, proc_pid_smaps(5).
func unchangedRanges(smaps io.Reader, file string) (ranges []addressRange, err error) {
	var (
		mapping addressRange
		isFile  bool // whether mapping is one of the file
	)
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) < 2:
		case fields[0] == "Anonymous:":
			if isFile && fields[1] == "0" {
				ranges = append(ranges, mapping)
			}
		case !strings.HasSuffix(fields[0], ":"): // the first line of a mapping
			private := strings.HasPrefix(fields[1], "r-") && strings.HasSuffix(fields[1], "p")
			mapping, isFile = parseRange(fields[0])
			isFile = isFile && private && len(fields) == 6 && fields[5] == file
		}
	}
	return ranges, lines.Err()
}

// parseRange parses two addresses with a hyphen between them.
func parseRange(text string) (r addressRange, ok bool) {
	from, to, _ := strings.Cut(text, "-")
	start, err := strconv.ParseUint(from, 16, strconv.IntSize)
	if err != nil {
		return r, false
	}
	end, err := strconv.ParseUint(to, 16, strconv.IntSize)
	return addressRange{uintptr(start), uintptr(end)}, err == nil && end > start
}
