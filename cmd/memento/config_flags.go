package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"memento/backend"
	"memento/backend/cryptstore"
	"memento/backend/storeurl"
	"memento/server"

	"github.com/spf13/cobra"
)

// configFlags are the flags of the commands that read a server's configuration: one flag
// for each setting.
type configFlags struct {
	file  string
	given map[string]string // values by flag name
}

// A serverFlag keeps the value of a flag as text. It is parsed later, together with the
// environment and the file.
type serverFlag struct {
	setting server.Setting
	given   map[string]string
}

func (f serverFlag) String() string { return "" } // the usage text contains the default
func (f serverFlag) Type() string   { return f.setting.Form }

func (f serverFlag) Set(text string) error {
	if before, again := f.given[f.setting.Flag()]; again && f.setting.IsList() {
		text = before + "," + text
	}
	f.given[f.setting.Flag()] = text
	return f.setting.Check(text)
}

// addConfigFlags adds a flag for each setting of a server.
func (a *app) addConfigFlags(c *cobra.Command) *configFlags {
	f := &configFlags{given: map[string]string{}}
	c.Flags().StringVar(&f.file, "config", "", "read settings from this YAML `file` (env MEMENTO_CONFIG)")
	_ = c.MarkFlagFilename("config", "yaml", "yml")
	for _, s := range server.Settings() {
		if s.Flag() == "" || slices.Contains(globalSettings, s.Key) { // it has a global flag
			continue
		}
		usage := strings.ReplaceAll(s.Meaning, "`", "")
		if s.Default != "" {
			usage += " (default " + s.Default + ")"
		}
		flag := c.Flags().VarPF(serverFlag{s, f.given}, s.Flag(), "", usage)
		if s.Form == "bool" {
			flag.NoOptDefVal = "true"
		}
		if words := s.Words(); words != nil {
			_ = c.RegisterFlagCompletionFunc(s.Flag(), cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	return f
}

const (
	backendSetting = "backend"
	levelFlag      = "log-level"
	keysFlag       = "encryption-keys"
	namesFlag      = "encrypt-names"
)

// globalSettings are the settings with a global flag.
var globalSettings = []string{backendSetting, "encryption.keys_file", "encryption.names"}

// load reads the configuration of a server. Errors: server.ConfigErrors.
func (a *app) load(f *configFlags) (server.Config, error) {
	src := server.Sources{File: f.path(), Flags: map[string]string{}}
	for name, text := range f.given {
		src.Flags[name] = text
	}
	if a.backendURL != "" {
		src.Flags[backendSetting] = a.backendURL
	}
	if a.encryptionFile != "" {
		src.Flags[keysFlag] = a.encryptionFile
	}
	if a.encryptNames {
		src.Flags[namesFlag] = "true"
	}
	if _, given := src.Flags[levelFlag]; a.quiet && !given {
		src.Flags[levelFlag] = "error"
	}
	var err error
	if src.Backend, err = defaultBackend(); err != nil {
		src.Backend = "" // an error only if no backend is configured
	}
	c, faults := server.Load(src)
	if c.Backend == "" && faults == nil {
		return c, hint(err, "choose a backend with --backend, for example --backend sqlite:memento.db")
	}
	return c, faults
}

func (f *configFlags) path() string { return cmp.Or(f.file, os.Getenv("MEMENTO_CONFIG")) }

// defaultBackend is the URL of the user's SQLite file.
func defaultBackend() (string, error) {
	dir, err := dataDir()
	if err != nil {
		return "", err
	}
	return storeurl.SQLite(filepath.Join(dir, "memento", "memento.db")), nil
}

// loadChecked is load plus all checks that do not need a running server.
func (a *app) loadChecked(f *configFlags) (server.Config, error) {
	c, err := a.load(f)
	faults, ok := errors.AsType[server.ConfigErrors](err)
	if err != nil && !ok {
		return c, err
	}
	if more, ok := errors.AsType[server.ConfigErrors](c.Check(a.now())); ok {
		faults = append(faults, more...)
	}
	if c.Backend != "" {
		if err := storeurl.Check(c.Backend); err != nil {
			faults = append(faults, c.SettingError("backend", "%v", err))
		}
	}
	if file := c.Encryption.KeysFile; file != "" && !slices.ContainsFunc(faults, func(f server.ConfigError) bool { return f.Setting == "encryption.keys_file" }) {
		if _, err := cryptstore.OpenKeyFile(file); err != nil {
			faults = append(faults, c.SettingError("encryption.keys_file", "%v", err))
		}
	}
	if c.Encryption.Names && c.Encryption.KeysFile == "" && strings.TrimSpace(os.Getenv(encryptionKeysVariable)) == "" {
		faults = append(faults, c.SettingError("encryption.names", "needs encryption.keys_file: without keys nothing is encrypted"))
	}
	if len(faults) == 0 {
		return c, nil
	}
	return c, faults
}

// reportConfigErrors prints the errors of a configuration, one per line, and returns the
// exit code as an error. Other errors are returned unchanged.
func (a *app) reportConfigErrors(err error) error {
	faults, ok := errors.AsType[server.ConfigErrors](err)
	if !ok {
		return err
	}
	for _, f := range faults {
		a.warn(errors.New(line(f.String())))
	}
	fmt.Fprintln(a.stderr, `memento: hint: docs/configuration.md describes the settings; "memento config check" checks all of them`)
	if errors.Is(err, backend.ErrInUse) { // a port
		return silence(exitConflict)
	}
	return silence(exitInvalid)
}
