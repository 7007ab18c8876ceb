package memento

import (
	"errors"
	"fmt"
	"strings"
)

// A Profile has the texts in which a [Tool] answers, where they are not those of the
// tool's documentation: for agents and tests that know the words of another
// implementation. A field that is "" means the documentation's text.
//
// A text is sent as it stands, except for the placeholders in braces that are named at
// its field. It has no "Error: " unless it begins with it.
//
// A Profile changes words, and not what the commands do. Refusals that are memento's
// own, and notices below a result, keep their texts.
type Profile struct {
	// Results. {path} is the path as the agent gave it.

	Directory string // header of a directory: {path}
	File      string // header of a file: {path}
	Created   string // {path}
	Replaced  string // {path}; a snippet of the file follows on the next line
	Inserted  string // {path}
	Deleted   string // {path}
	Renamed   string // {old_path}, {new_path}

	// Refusals.

	ViewMissing      string // {path}
	TooManyLines     string // {path}, {lines}: how many the file has
	CreateExists     string // {path}
	ReplaceMissing   string // {path}
	ReplaceDirectory string // the path is a directory: {path}
	NoMatch          string // {old_str}, {path}
	ManyMatches      string // {old_str}, {lines}: the numbers of lines, such as "1, 4"
	InsertMissing    string // {path}
	InsertDirectory  string // the path is a directory: {path}
	BadInsertLine    string // {insert_line}, {lines}: how many the file has
	DeleteMissing    string // {path}
	RenameMissing    string // {path}, the old one
	RenameExists     string // {path}, the new one
	OutsideRoot      string // the path is not in /memories: {path}
	EscapesRoot      string // the path leads out of /memories: {path}
	DeleteRoot       string // {path}: /memories, or a mount
	RenameRoot       string // {path}: /memories, or a mount

	// ShortSizes writes sizes of whole units without a fraction: 4K rather than 4.0K.
	ShortSizes bool
	// PlainErrors leaves "Error: " out where memento's own refusals begin with it.
	PlainErrors bool
}

// Names of profiles, for [ProfileNamed].
const (
	ProfileDocumentation = "documentation"
	ProfileTypeScript    = "typescript"
	ProfilePython        = "python"
)

// ProfileNames returns the names that [ProfileNamed] knows.
func ProfileNames() []string {
	return []string{ProfileDocumentation, ProfileTypeScript, ProfilePython}
}

// ProfileNamed returns the profile with a name: "documentation", or "typescript" or
// "python" for the local memory tools of Anthropic's SDKs. "" is "documentation".
//
// Errors: ErrInvalid for any other name.
func ProfileNamed(name string) (*Profile, error) {
	switch name {
	case "", ProfileDocumentation:
		return &Profile{}, nil
	case ProfileTypeScript:
		return typeScriptProfile(), nil
	case ProfilePython:
		return pythonProfile(), nil
	}
	return nil, fmt.Errorf("%w: there is no profile %q; use one of: %s", ErrInvalid, name, strings.Join(ProfileNames(), ", "))
}

// placeholders are the names of what is filled into a sentence of text.go, in its order.
var placeholders = map[string][]string{
	textDirectory:     {"path"},
	textFile:          {"path"},
	textCreated:       {"path"},
	textReplaced:      {"path"},
	textInserted:      {"path"},
	textDeleted:       {"path"},
	textRenamed:       {"old_path", "new_path"},
	textViewMissing:   {"path"},
	textTooManyLines:  {"path", "lines"},
	textExists:        {"path"},
	textEditMissing:   {"path"},
	textNoMatch:       {"old_str", "path"},
	textManyMatches:   {"old_str", "lines"},
	textMissing:       {"path"},
	textBadInsertLine: {"insert_line", "lines"},
	textDestination:   {"path"},
	textOutside:       {"path"},
	textEscape:        {"path"},
	textRootDelete:    {"path"},
	textRootRename:    {"path"},
}

// text returns the profile's text for a sentence of text.go, in an answer to command;
// "" if it is the sentence itself. directory is whether it is about a directory.
func (p *Profile) text(sentence, command string, directory bool) string {
	switch sentence {
	case textDirectory:
		return p.Directory
	case textFile:
		return p.File
	case textCreated:
		return p.Created
	case textReplaced:
		return p.Replaced
	case textInserted:
		return p.Inserted
	case textDeleted:
		return p.Deleted
	case textRenamed:
		return p.Renamed
	case textViewMissing:
		return p.ViewMissing
	case textTooManyLines:
		return p.TooManyLines
	case textExists:
		return p.CreateExists
	case textEditMissing:
		if directory && p.ReplaceDirectory != "" {
			return p.ReplaceDirectory
		}
		return p.ReplaceMissing
	case textNoMatch:
		return p.NoMatch
	case textManyMatches:
		return p.ManyMatches
	case textMissing:
		switch command {
		case "insert":
			if directory && p.InsertDirectory != "" {
				return p.InsertDirectory
			}
			return p.InsertMissing
		case "delete":
			return p.DeleteMissing
		case "rename":
			return p.RenameMissing
		}
	case textBadInsertLine:
		return p.BadInsertLine
	case textDestination:
		return p.RenameExists
	case textOutside:
		return p.OutsideRoot
	case textEscape:
		return p.EscapesRoot
	case textRootDelete:
		return p.DeleteRoot
	case textRootRename:
		return p.RenameRoot
	}
	return ""
}

// say returns a result in the words of the tool's profile.
func (t *Tool) say(sentence string, args ...any) string {
	if p := t.opts.Profile; p != nil {
		if text := p.text(sentence, "", false); text != "" {
			ending := sentence[len(strings.TrimSuffix(sentence, "\n")):] // of headers
			return fill(text, sentence, args) + ending
		}
	}
	return fmt.Sprintf(sentence, args...)
}

// inProfile puts the refusal of a command into the words of the tool's profile.
func (t *Tool) inProfile(command string, err *error) {
	p := t.opts.Profile
	var e *ToolError
	if p == nil || !errors.As(*err, &e) {
		return
	}
	if text := p.text(e.sentence, command, errors.Is(e.Err, ErrIsDir)); text != "" {
		*err = &ToolError{Text: fill(text, e.sentence, e.args), Err: e.Err}
	} else {
		*err = &ToolError{Text: p.errorText(e.Text), Err: e.Err}
	}
}

// fill puts the args of a sentence into the placeholders of a text.
func fill(text, sentence string, args []any) string {
	var pairs []string
	for i, name := range placeholders[sentence] {
		pairs = append(pairs, "{"+name+"}", fmt.Sprint(args[i]))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// errorText returns a refusal that the profile has no text for.
func (p *Profile) errorText(text string) string {
	if p == nil || !p.PlainErrors {
		return text
	}
	return strings.TrimPrefix(text, "Error: ")
}

// size writes the size of a file or directory.
func (p *Profile) size(bytes int64) string {
	text := humanSize(bytes)
	if p == nil || !p.ShortSizes {
		return text
	}
	return strings.Replace(text, ".0", "", 1)
}
