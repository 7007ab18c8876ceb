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

// maxFile is the largest size of a configuration file, in bytes.
const maxFile = 1 << 20

// Sources are the sources of a configuration. Flags take precedence over the
// environment, the environment over the file, and the file over defaults.
type Sources struct {
	File    string                   // path of the YAML file; "" for none
	Getenv  func(name string) string // nil: os.Getenv. An empty variable counts as not set
	Flags   map[string]string        // values of flags, by [Setting.Flag]
	Backend string                   // the default of the setting "backend"
}

// Load reads a configuration. It does not check whether what it names can be used:
// [Config.Check] does.
//
// Errors: ConfigErrors, with everything that is wrong.
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
	c.Embeddings.Key = strings.TrimSpace(src.Getenv(embeddingsKeyVariable))
	return c, faults.errorOrNil()
}

// value is the value of a setting from one source.
type value struct {
	setting Setting
	from    origin
	text    string
}

// readFile reads a configuration file. It returns the values, and puts the webhooks
// into c.
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
		err = fmt.Errorf("larger than %d bytes", maxFile)
	}
	return text, err
}

// cause returns why a file could not be used, without its path: the message names the
// setting already.
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
