package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"memento"
	"memento/backend/storeurl"
)

// A profile has values for flags that are not given. It is used as a whole: if --backend
// or MEMENTO_BACKEND selects a backend, nothing of it counts.
type profile struct {
	Backend        string `json:"backend"`
	Workspace      string `json:"workspace,omitempty"`
	Store          string `json:"store,omitempty"`
	KeyFile        string `json:"key_file,omitempty"`
	EncryptionKeys string `json:"encryption_keys_file,omitempty"`
}

// profiles is the file of the user's profiles. It contains no secrets.
type profiles struct {
	Current  string             `json:"current,omitempty"` // name of the one in use; "" for none
	Profiles map[string]profile `json:"profiles"`
}

const profileVariable = "MEMENTO_PROFILE"

// maxProfileBytes is the maximum size of the file.
const maxProfileBytes = 1 << 20

// profileFile returns the path of the file: memento/profiles.json in the user's
// configuration directory.
func profileFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("there is no place for profiles: %w", err)
	}
	return filepath.Join(dir, "memento", "profiles.json"), nil
}

// loadProfiles reads the file. Without a file, or a place for one, there are no profiles.
func loadProfiles() (all profiles, err error) {
	all.Profiles = map[string]profile{}
	path, err := profileFile()
	if err != nil {
		return all, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return all, err
	}
	defer f.Close()
	d := json.NewDecoder(io.LimitReader(f, maxProfileBytes))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		return all, hint(fmt.Errorf("%w: the file of profiles cannot be read: %w", memento.ErrInvalid, err), "correct %s, or remove it", path)
	}
	if all.Profiles == nil {
		all.Profiles = map[string]profile{}
	}
	return all, nil
}

// save replaces the file, which only its owner can read.
func (all profiles) save() (err error) {
	path, err := profileFile()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(all); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".profiles-*.tmp") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(text.Bytes())
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}

// names returns the names of the profiles in order.
func (all profiles) names() []string { return slices.Sorted(maps.Keys(all.Profiles)) }

// find returns a profile. Errors: ErrNotExist.
func (all profiles) find(name string) (profile, error) {
	p, ok := all.Profiles[name]
	if ok {
		return p, nil
	}
	err := reworded(memento.ErrNotExist, "there is no profile %q", name)
	if found := near(name, all.names()); found != "" {
		return p, hint(err, "did you mean %q?", found)
	}
	return p, hint(err, `"memento profile list" lists the profiles`)
}

// usedProfile returns the profile in use and its name: that of MEMENTO_PROFILE, else the
// current one of the file. The name is "" if there is none, or if it does not count.
func (a *app) usedProfile() (p profile, name string, err error) {
	if a.backendURL != "" || os.Getenv("MEMENTO_BACKEND") != "" {
		return p, "", nil
	}
	if a.profile != nil {
		return *a.profile, a.profileName, nil
	}
	all, err := loadProfiles()
	if err != nil {
		return p, "", err
	}
	name = all.Current
	if chosen := os.Getenv(profileVariable); chosen != "" {
		name = chosen
	}
	if name != "" {
		if p, err = all.find(name); err != nil {
			return p, "", err
		}
	}
	a.profile, a.profileName = &p, name
	return p, name, nil
}

// fromProfile returns a value of the profile in use; "" if it has none. Opening the
// backend reports the errors of a profile.
func (a *app) fromProfile(value func(profile) string) string {
	p, _, err := a.usedProfile()
	if err != nil {
		return ""
	}
	return value(p)
}

// check returns an error for values that no command would accept.
func (p profile) check() error {
	if err := storeurl.Check(p.Backend); err != nil {
		return err
	}
	if p.Workspace == "" {
		return nil
	}
	return memento.Workspace(p.Workspace).Check()
}
