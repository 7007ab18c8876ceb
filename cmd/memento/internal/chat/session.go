package chat

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
)

// ErrNoSession is returned for a session that does not exist.
var ErrNoSession = errors.New("there is no such session")

// sessionVersion is the version of the format of session files.
const sessionVersion = 1

// A Session is a conversation as it is saved: what requests are made of, which does not
// change, and the messages so far.
type Session struct {
	Version int       `json:"version"`
	ID      string    `json:"id"` // sesn_…; the history of the store names it, too
	Created time.Time `json:"created_at"`
	Updated time.Time `json:"updated_at"`

	Store    string `json:"store"`
	Model    string `json:"model"`
	System   string `json:"system,omitempty"`
	Topic    string `json:"topic,omitempty"`
	Thinking string `json:"thinking,omitempty"` // see ParseThinking

	Messages []anthropic.BetaMessageParam `json:"messages"`
}

// Title returns what the user wrote first, on one line.
func (s *Session) Title() string {
	for _, m := range s.Messages {
		if m.OfUser == nil {
			continue
		}
		for _, block := range m.OfUser.Content {
			if block.OfText != nil {
				return oneLine(block.OfText.Text)
			}
		}
	}
	return ""
}

// Sessions are the saved sessions: files of JSON in a directory, which is created when
// the first one is saved. Only the user can read them.
type Sessions struct {
	Dir string
}

// maxSession is the maximum size of a file, in bytes. It is above what a request may have.
const maxSession = 64 << 20

var sessionID = regexp.MustCompile(`^sesn_[0-9a-zA-Z]{1,64}$`)

func (ss Sessions) file(id string) (string, error) {
	if !sessionID.MatchString(id) {
		return "", fmt.Errorf("%w: %q", ErrNoSession, id)
	}
	return filepath.Join(ss.Dir, id+".json"), nil
}

// Save writes a session. A crash leaves the old file or the new one.
func (ss Sessions) Save(s *Session) error {
	name, err := ss.file(s.ID)
	if err != nil {
		return err
	}
	s.Version = sessionVersion
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("save the session: %w", err)
	}
	if len(text) > maxSession {
		return fmt.Errorf("save the session: it has more than %d MiB; start another one", maxSession>>20)
	}
	if err := os.MkdirAll(ss.Dir, 0o700); err != nil {
		return fmt.Errorf("save the session: %w", err)
	}
	if err := replaceFile(name, text); err != nil {
		return fmt.Errorf("save the session: %w", err)
	}
	return nil
}

// replaceFile writes a file under another name, and renames it.
func replaceFile(name string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".session-*") // for the user only
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Load reads the session with an ID. If there is none, it returns ErrNoSession.
func (ss Sessions) Load(id string) (*Session, error) {
	name, err := ss.file(id)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %s", ErrNoSession, id)
	case err != nil:
		return nil, err
	case info.Size() > maxSession:
		return nil, fmt.Errorf("session %s: the file has more than %d MiB", id, maxSession>>20)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	s := &Session{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("session %s: the file is damaged: %w", id, err)
	}
	if s.Version != sessionVersion || s.ID != id {
		return nil, fmt.Errorf("session %s: the file is of another session, or of a newer memento", id)
	}
	return s, nil
}

// List returns all sessions, the one that was used last first, and the errors of files
// that cannot be read.
func (ss Sessions) List() ([]*Session, error) {
	entries, err := os.ReadDir(ss.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []*Session
	var failed []error
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || !sessionID.MatchString(id) {
			continue
		}
		s, err := ss.Load(id)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *Session) int {
		return cmp.Or(b.Updated.Compare(a.Updated), strings.Compare(b.ID, a.ID))
	})
	return all, errors.Join(failed...)
}

// Latest returns the session that was used last. If there is none, it returns
// ErrNoSession.
func (ss Sessions) Latest() (*Session, error) {
	all, err := ss.List()
	switch {
	case len(all) > 0:
		return all[0], nil
	case err != nil:
		return nil, err
	}
	return nil, ErrNoSession
}

// Delete deletes the session with an ID. If there is none, it returns ErrNoSession.
func (ss Sessions) Delete(id string) error {
	name, err := ss.file(id)
	if err != nil {
		return err
	}
	err = os.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s", ErrNoSession, id)
	}
	return err
}
