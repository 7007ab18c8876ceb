package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// humanSize formats a number of bytes as "512B", "1.5K", "1.2M".
func humanSize(bytes int64) string {
	if bytes < 1024 {
		return strconv.FormatInt(bytes, 10) + "B"
	}
	size, unit := float64(bytes)/1024, 0
	for size >= 1023.95 && unit < 3 {
		size /= 1024
		unit++
	}
	return strconv.FormatFloat(size, 'f', 1, 64) + "KMGT"[unit:unit+1]
}

// A byteSize is the value of a flag: a number of bytes, with K, M or G for powers of 1,024.
type byteSize int64

func (s *byteSize) String() string { return strconv.FormatInt(int64(*s), 10) }
func (s *byteSize) Type() string   { return "bytes" }

func (s *byteSize) Set(text string) error {
	digits, unit := text, int64(1)
	if i := strings.IndexAny(text, "KkMmGg"); i >= 0 && i == len(text)-1 {
		digits = text[:i]
		unit = map[byte]int64{'k': 1 << 10, 'm': 1 << 20, 'g': 1 << 30}[text[i]|0x20]
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return errors.New("give a number of bytes, such as 102400, 100K or 2M")
	}
	*s = byteSize(n * unit)
	return nil
}

// plural formats a number with its noun: "1 memory", "2 memories".
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
