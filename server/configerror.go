package server

import (
	"fmt"
	"strings"

	"memento"
)

// A Fault is one thing that is wrong with a configuration. It repeats no secret.
type ConfigError struct {
	Setting string // its key; "" if it is the file as such
	Source  Source // where the setting has its value from
	Name    string // of the flag or the variable; "" otherwise
	Line    int    // of the file, from 1; 0 if it is not of one
	Message string // what is wrong, and what would be right
}

// String says where the fault is, and what it is.
func (f ConfigError) String() string {
	o := origin{f.Source, f.Name, f.Line}
	where := f.Setting
	switch {
	case where == "":
		where = "configuration " + o.String()
	case f.Source != FromDefault:
		where += " (" + o.String() + ")"
	}
	return where + ": " + f.Message
}

// Faults are all that is wrong with a configuration. As an error they are
// memento.ErrInvalid.
type ConfigErrors []ConfigError

func (f ConfigErrors) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.String()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns memento.ErrInvalid.
func (f ConfigErrors) Unwrap() error { return memento.ErrInvalid }

// orNil returns f as an error, nil if there is none.
func (f ConfigErrors) errorOrNil() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// A Source is where a setting has its value from.
type Source string

// The sources, those that count for more last.
const (
	FromDefault Source = "default"
	FromFile    Source = "file"
	FromEnv     Source = "environment"
	FromFlag    Source = "flag"
)

// An origin is the place where a setting was given its value.
type origin struct {
	source Source
	name   string
	line   int
}

func (o origin) String() string {
	switch o.source {
	case FromFile:
		if o.line == 0 {
			return "file"
		}
		return fmt.Sprintf("file, line %d", o.line)
	case FromEnv:
		return "environment, " + o.name
	case FromFlag:
		return "flag --" + o.name
	}
	return string(FromDefault)
}

// Fault makes a fault of a setting that has its value already.
func (c *Config) SettingError(key, format string, args ...any) ConfigError {
	o, given := c.origins[key]
	if !given {
		o.source = FromDefault
	}
	return ConfigError{Setting: key, Source: o.source, Name: o.name, Line: o.line, Message: fmt.Sprintf(format, args...)}
}
