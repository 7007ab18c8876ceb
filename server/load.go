package server

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// maxFile is the most bytes of a configuration file.
const maxFile = 1 << 20

// Sources are where a configuration comes from. Flags count for more than the
// environment, that for more than the file, and that for more than defaults.
type Sources struct {
	File    string                   // path of the YAML file; "" for none
	Getenv  func(name string) string // nil: os.Getenv. An empty variable counts as not set
	Flags   map[string]string        // those on the command line, by [Setting.Flag]
	Backend string                   // the default of the setting "backend"
}

// Load reads a configuration. Whether what it names can be used is for
// [Config.Check] to find out.
//
// Errors: Faults, all there are.
func Load(src Sources) (Config, error) {
	if src.Getenv == nil {
		src.Getenv = os.Getenv
	}
	c := Default()
	c.Backend = src.Backend
	c.origins = map[string]origin{}
	var faults ConfigErrors
	var given []value
	if src.File != "" {
		given, faults = readFile(src.File, &c)
	}
	for _, s := range Settings() {
		if v := src.Getenv(s.Env()); s.Env() != "" && v != "" {
			given = append(given, value{s, origin{source: FromEnv, name: s.Env()}, v})
		}
	}
	for _, s := range Settings() {
		if v, ok := src.Flags[s.Flag()]; s.Flag() != "" && ok {
			given = append(given, value{s, origin{source: FromFlag, name: s.Flag()}, v})
		}
	}
	for _, v := range given {
		c.origins[v.setting.Key] = v.from
		if err := v.setting.set(&c, v.text); err != nil {
			faults = append(faults, c.SettingError(v.setting.Key, "%v, not %q", err, v.text))
		}
	}
	for i := range c.Webhooks {
		if err := c.Webhooks[i].findSecret(src.Getenv); err != nil {
			faults = append(faults, c.webhookError(i, "%v", err))
		}
	}
	return c, faults.errorOrNil()
}

// A value is what a setting was given at one place.
type value struct {
	setting Setting
	from    origin
	text    string
}

// readFile reads a configuration file: the values in it, and its webhooks into c.
func readFile(path string, c *Config) ([]value, ConfigErrors) {
	text, err := readBounded(path)
	if err != nil {
		return nil, ConfigErrors{{Source: FromFile, Message: "it cannot be read: " + cause(err)}}
	}
	d := document{config: c}
	d.read(text)
	slices.SortStableFunc(d.errs, func(a, b ConfigError) int { return a.Line - b.Line })
	return d.values, d.errs
}

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("it has more than %d bytes", maxFile)
	}
	return text, err
}

// cause says why a file could not be used, without its path: the setting that
// names it is named already.
func cause(err error) string {
	var at *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "it does not exist"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.As(err, &at):
		return at.Err.Error()
	}
	return strings.TrimPrefix(err.Error(), "tls: ")
}
