package server

import (
	"fmt"
	"strings"

	"memento"
)

// ConfigError is one error in a configuration. It contains no secret.
type ConfigError struct {
	Setting string // the setting's key; "" if the error is in the file as a whole
	Source  Source // where the setting's value is from
	Name    string // the flag or environment variable; "" for other sources
	Line    int    // in the file, from 1; 0 if the value is not from the file
	Message string // what is wrong, and what is expected
}

// String returns the location of the error and its message.
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

// ConfigErrors are all errors in a configuration. errors.Is reports that they are
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

// errorOrNil returns f as an error; nil if f is empty.
func (f ConfigErrors) errorOrNil() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// Source is the kind of place that a setting's value is from.
type Source string

// The sources, in order of increasing precedence.
const (
	FromDefault Source = "default"
	FromFile    Source = "file"
	FromEnv     Source = "environment"
	FromFlag    Source = "flag"
)

// origin is the place that a setting's value is from.
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

// SettingError returns a ConfigError of a setting, with the place that its value is
// from.
func (c *Config) SettingError(key, format string, args ...any) ConfigError {
	o, given := c.origins[key]
	if !given {
		o.source = FromDefault
	}
	return ConfigError{Setting: key, Source: o.source, Name: o.name, Line: o.line, Message: fmt.Sprintf(format, args...)}
}
