package server

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// kind is a type of setting values: how they are parsed and formatted. A formatted
// value can be parsed again. The errors of parse say what is expected, as in "want a
// number"; the caller adds the value and its place.
type kind[T any] struct {
	form   string   // the type in one word, for the documentation
	words  []string // the possible values; nil if they are not a short list
	list   bool
	parse  func(string) (T, error)
	format func(T) string
}

func asIs[T ~string](v T) string { return string(v) }

// anyText is one line of text. Config.Check checks it further.
var anyText = kind[string]{form: "text", format: asIs[string], parse: func(s string) (string, error) {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return "", errors.New("expected a line of text without control characters")
	}
	return s, nil
}}

var boolean = kind[bool]{form: "bool", format: strconv.FormatBool, parse: func(s string) (bool, error) {
	v, err := strconv.ParseBool(s)
	if err != nil {
		return false, errors.New("expected true or false")
	}
	return v, nil
}}

// word is one of the given words.
func word[T ~string](known ...T) kind[T] {
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = string(k)
	}
	return kind[T]{form: "word", words: names, format: asIs[T], parse: func(s string) (T, error) {
		if !slices.Contains(names, s) {
			return "", fmt.Errorf("expected %s or %s", strings.Join(names[:len(names)-1], ", "), names[len(names)-1])
		}
		return T(s), nil
	}}
}

// whole is an integer that is at least least.
func whole(least int) kind[int] {
	return kind[int]{form: "number", format: strconv.Itoa, parse: func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < least || n > math.MaxInt32 {
			return 0, fmt.Errorf("expected an integer of at least %d", least)
		}
		return n, nil
	}}
}

var percent = kind[int]{form: "percent", format: strconv.Itoa, parse: func(s string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSuffix(s, "%"))
	if err != nil || n < 1 || n > 100 {
		return 0, errors.New("expected an integer from 1 to 100, in percent")
	}
	return n, nil
}}

var number = kind[float64]{
	form:   "number",
	format: func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) },
	parse: func(s string) (float64, error) {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || !(f >= 0 && f <= math.MaxInt32) {
			return 0, errors.New("expected a number of at least 0")
		}
		return f, nil
	},
}

// size is a number of bytes.
var size = kind[int64]{
	form: "size",
	format: func(n int64) string {
		unit := 0
		for n != 0 && n%1024 == 0 && unit < 3 {
			n /= 1024
			unit++
		}
		return strconv.FormatInt(n, 10) + []string{"", "K", "M", "G"}[unit]
	},
	parse: func(s string) (int64, error) {
		digits, unit := strings.TrimSuffix(s, "iB"), int64(1)
		if i := len(digits) - 1; i > 0 && strings.ContainsRune("KkMmGg", rune(digits[i])) {
			unit = map[byte]int64{'k': 1 << 10, 'm': 1 << 20, 'g': 1 << 30}[digits[i]|0x20]
			digits = digits[:i]
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n < 1 || n > math.MaxInt64/unit {
			return 0, errors.New("expected a number of bytes, such as 102400, 100K, 4M or 1G")
		}
		return n * unit, nil
	},
}

// autoSize is a number of bytes, or "auto" for a size that the server computes.
var autoSize = kind[int64]{
	form: "size",
	format: func(n int64) string {
		if n == 0 {
			return "auto"
		}
		return size.format(n)
	},
	parse: func(s string) (int64, error) {
		const least = 16 << 20
		if s == "auto" {
			return 0, nil
		}
		n, err := size.parse(s)
		if err != nil || n < least {
			return 0, errors.New("expected auto, or a number of bytes of at least 16M, such as 96M or 1G")
		}
		return n, nil
	},
}

// duration is a duration of at least least.
func duration(least time.Duration) kind[time.Duration] {
	return kind[time.Duration]{form: "duration", format: formatDuration, parse: func(s string) (time.Duration, error) {
		d, err := time.ParseDuration(s)
		switch {
		case err != nil:
			return 0, errors.New("expected a duration, such as 500ms, 30s, 10m or 1h30m")
		case d < least:
			return 0, fmt.Errorf("expected a duration of at least %s", formatDuration(least))
		}
		return d, nil
	}}
}

// formatDuration formats a duration without zero units: 1h instead of 1h0m0s.
func formatDuration(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if short, ok := strings.CutSuffix(s, zero); ok {
			s = short + zero[:1]
		}
	}
	return s
}

var address = kind[string]{form: "address", format: asIs[string], parse: parseAddress}

// offAddress is an address, or "off".
var offAddress = kind[string]{
	form: "address",
	format: func(s string) string {
		if s == "" {
			return "off"
		}
		return s
	},
	parse: func(s string) (string, error) {
		if s == "" || s == "off" {
			return "", nil
		}
		return parseAddress(s)
	},
}

func parseAddress(s string) (string, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return "", errors.New("expected a host and a port, such as 127.0.0.1:8377, [::1]:8377, or :8377 for all addresses of this machine")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return "", errors.New("expected a port from 0 to 65535 after the colon")
	}
	if _, err := netip.ParseAddr(host); err != nil && host != "" && !isHostName(host) {
		return "", errors.New("expected a host name or an IP address before the colon")
	}
	return s, nil
}

// isHostName reports whether s can be a host name.
func isHostName(s string) bool {
	for _, label := range strings.Split(s, ".") {
		ok := label != "" && len(label) <= 63
		for _, r := range label {
			ok = ok && (r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z')
		}
		if !ok {
			return false
		}
	}
	return len(s) <= 253
}

// hosts are host names as in the header Host, without the port.
var hosts = listOf("expected host names or IP addresses without scheme and port, such as memory.example", func(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil || isHostName(s)
})

// origins are values of the header Origin, which browsers send.
var origins = listOf("expected origins (scheme, host and optional port), such as https://app.example", func(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.Scheme+"://"+u.Host == s && u.User == nil
})

// headerName is the name of a header with addresses. Forwarded has another syntax.
var headerName = kind[string]{form: "text", format: asIs[string], parse: func(s string) (string, error) {
	switch {
	case strings.EqualFold(s, "Forwarded"):
		return "", errors.New("the header Forwarded is not supported; let the proxy send X-Forwarded-For")
	case strings.ContainsFunc(s, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
	}):
		return "", errors.New("expected the name of a header, such as X-Forwarded-For")
	}
	return s, nil
}}

// networks are IP addresses and networks.
var networks = kind[[]netip.Prefix]{
	form: "list", list: true,
	format: func(v []netip.Prefix) string {
		texts := make([]string, len(v))
		for i, n := range v {
			texts[i] = n.String()
		}
		return strings.Join(texts, ",")
	},
	parse: func(s string) (all []netip.Prefix, err error) {
		for item := range strings.SplitSeq(s, ",") {
			if item = strings.TrimSpace(item); item == "" {
				continue
			}
			n, err := netip.ParsePrefix(item)
			if err != nil {
				addr, err := netip.ParseAddr(item)
				if err != nil || addr.Zone() != "" {
					return nil, errors.New("expected IP addresses or networks, such as 10.0.0.0/8 or 192.0.2.1")
				}
				n = netip.PrefixFrom(addr, addr.BitLen())
			}
			all = append(all, n.Masked())
		}
		return all, nil
	},
}

// listOf is a list of texts for each of which ok returns true.
func listOf(want string, ok func(string) bool) kind[[]string] {
	return kind[[]string]{
		form: "list", list: true,
		format: func(v []string) string { return strings.Join(v, ",") },
		parse: func(s string) ([]string, error) {
			var v []string
			for item := range strings.SplitSeq(s, ",") {
				switch item = strings.TrimSpace(item); {
				case item == "":
				case ok(item):
					v = append(v, item)
				default:
					return nil, errors.New(want)
				}
			}
			return v, nil
		},
	}
}

// mounts are directories with their stores: NAME=STORE or NAME=STORE:ro.
var mounts = listOf("expected NAME=STORE or NAME=STORE:ro", func(text string) bool {
	name, store, _ := parseMount(text)
	return name != "" && store != ""
})

func parseMount(text string) (name, store string, readOnly bool) {
	name, store, _ = strings.Cut(text, "=")
	store, readOnly = strings.CutSuffix(store, ":ro")
	return name, store, readOnly
}

// What the gateway can emulate.
const (
	emulateMemory         = "memory"
	emulateContextEditing = "context-editing"
	emulateCompaction     = "compaction"
)

// emulations are what the gateway emulates.
var emulations = listOf("expected a list of "+emulateMemory+", "+emulateContextEditing+" and "+emulateCompaction, func(text string) bool {
	return text == emulateMemory || text == emulateContextEditing || text == emulateCompaction
})
