package main

import (
	"fmt"
	"slices"

	"memento"

	"github.com/spf13/cobra"
)

// settingFlags are the flags for the settings of a store. Each list has a flag that adds
// entries, and a flag with the prefix "remove-" that removes them.
type settingFlags struct {
	sensitive       string
	personal        bool
	instructions    string
	expireAfter     span
	historyAge      span
	historyVersions int
	noHistory       bool

	lists []*listFlag
}

// A listFlag has the two flags of a list.
type listFlag struct {
	name        string
	add, remove []string
}

// The names of the lists.
const (
	flagAllow        = "allow"
	flagAllowPattern = "allow-pattern"
	flagAllowPath    = "allow-path"
	flagNeverExpire  = "never-expire"
	flagReadOnly     = "read-only"
)

// add adds the flags to a command; the "remove-" flags only if removing is set.
func (f *settingFlags) add(c *cobra.Command, removing bool) {
	flags := c.Flags()
	flags.StringVar(&f.sensitive, "sensitive", "", "`mode` for secrets in writes: mask, reject or off")
	flags.BoolVar(&f.personal, "personal", false, "treat personal data as sensitive, too")
	flags.StringVar(&f.instructions, "instructions", "", "`mode` for text in writes that addresses the model: mark, reject or off")
	f.expireAfter = span{word: "never"}
	flags.Var(&f.expireAfter, "expire-after", "expire memories that were not used for this time: "+spanForms+", or never")
	f.historyAge = span{word: "forever", means: memento.Forever}
	flags.Var(&f.historyAge, "history-age", "keep replaced versions for this time: "+spanForms+", or forever")
	flags.IntVar(&f.historyVersions, "history-versions", 0, "always keep this many versions of each memory")
	flags.BoolVar(&f.noHistory, "no-history", false, "keep no history; replaced and removed contents cannot be restored")
	for _, list := range []struct{ name, kind, usage string }{
		{flagAllow, "text", "a `text` that is not sensitive (can be repeated)"},
		{flagAllowPattern, "expression", "a regular `expression`; texts that match completely are not sensitive (can be repeated)"},
		{flagAllowPath, "pattern", "a path `pattern` of memories that are not checked for secrets (can be repeated)"},
		{flagNeverExpire, "pattern", "a path `pattern` of memories that never expire (can be repeated)"},
		{flagReadOnly, "pattern", "a path `pattern` of memories that are read-only (can be repeated)"},
	} {
		l := &listFlag{name: list.name}
		f.lists = append(f.lists, l)
		flags.StringArrayVar(&l.add, l.name, nil, list.usage)
		if removing {
			flags.StringArrayVar(&l.remove, "remove-"+l.name, nil, "remove the `"+list.kind+"` that --"+l.name+" added")
		}
	}
	c.MarkFlagsMutuallyExclusive("no-history", "history-age")
	c.MarkFlagsMutuallyExclusive("no-history", "history-versions")
	_ = c.RegisterFlagCompletionFunc("instructions", cobra.FixedCompletions(
		[]string{string(memento.MarkInstructions), string(memento.RejectInstructions), memento.IgnoreInstructions.String()}, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("sensitive", cobra.FixedCompletions(
		[]string{string(memento.Mask), string(memento.Reject), string(memento.Off)}, cobra.ShellCompDirectiveNoFileComp))
}

// settings returns s with the changes of the command line.
func (f *settingFlags) settings(c *cobra.Command, s memento.Settings) (memento.Settings, error) {
	given := c.Flags().Changed
	if given("sensitive") {
		s.Sensitive.Mode = memento.SensitiveMode(f.sensitive)
	}
	if given("personal") {
		s.Sensitive.Personal = f.personal
	}
	if given("instructions") {
		if f.instructions == "" { // not to be taken for off
			return s, usage("--instructions is empty; it can be mark, reject or off")
		}
		_ = s.Sensitive.Instructions.UnmarshalText([]byte(f.instructions)) // what it is, is checked with the other settings
	}
	if given("expire-after") {
		s.Expiry.After = f.expireAfter.value
	}
	if given("history-age") {
		s.Retention.Age = f.historyAge.value
	}
	if given("history-versions") {
		s.Retention.Versions = f.historyVersions
	}
	if f.noHistory {
		s.Retention = memento.Retention{}
	}
	for _, l := range f.lists {
		var err error
		switch l.name {
		case flagAllow:
			s.Sensitive.Allow, err = changeList(s.Sensitive.Allow, l)
		case flagAllowPattern:
			s.Sensitive.AllowPatterns, err = changeList(s.Sensitive.AllowPatterns, l)
		case flagAllowPath:
			s.Sensitive.AllowPaths, err = changeList(s.Sensitive.AllowPaths, l)
		case flagNeverExpire:
			s.Expiry.Keep, err = changeList(s.Expiry.Keep, l)
		case flagReadOnly:
			s.ReadOnly, err = changeList(s.ReadOnly, l)
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

// changed reports whether any of the flags was given.
func (f *settingFlags) changed(c *cobra.Command) bool {
	names := []string{"sensitive", "personal", "instructions", "expire-after", "history-age", "history-versions", "no-history"}
	for _, l := range f.lists {
		names = append(names, l.name, "remove-"+l.name)
	}
	return slices.ContainsFunc(names, c.Flags().Changed)
}

// changeList removes and adds entries of a list. Entries to remove must be in the list;
// entries to add may be.
func changeList[T ~string](list []T, l *listFlag) ([]T, error) {
	list = slices.Clone(list)
	for _, text := range l.remove {
		i := slices.Index(list, T(text))
		if i < 0 {
			// The error does not contain the entry, which may be a secret.
			return nil, hint(fmt.Errorf("the value of --remove-%s %w in the store settings", l.name, memento.ErrNotExist),
				`"memento stores settings" lists the current values`)
		}
		list = slices.Delete(list, i, i+1)
	}
	for _, text := range l.add {
		if !slices.Contains(list, T(text)) {
			list = append(list, T(text))
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	return list, nil
}

// settingRows describes settings as rows of name and value.
func settingRows(s memento.Settings) [][2]string {
	mode := string(s.Sensitive.Mode)
	if s.Sensitive.Mode != memento.Off && s.Sensitive.Personal {
		mode += ", including personal data"
	}
	rows := [][2]string{{"sensitive", mode}}
	if s.Sensitive.Instructions != memento.IgnoreInstructions {
		rows = append(rows, [2]string{"instructions", s.Sensitive.Instructions.String()})
	}
	rows = appendRows(rows, flagAllow, s.Sensitive.Allow)
	rows = appendRows(rows, flagAllowPattern, s.Sensitive.AllowPatterns)
	rows = appendRows(rows, flagAllowPath, s.Sensitive.AllowPaths)
	rows = append(rows, [2]string{"expiry", expiryText(s.Expiry)})
	rows = appendRows(rows, flagNeverExpire, s.Expiry.Keep)
	rows = append(rows, [2]string{"history", retentionText(s.Retention)})
	return appendRows(rows, flagReadOnly, s.ReadOnly)
}

func appendRows[T ~string](rows [][2]string, name string, list []T) [][2]string {
	for _, entry := range list {
		rows = append(rows, [2]string{name, string(entry)})
	}
	return rows
}

func expiryText(e memento.Expiry) string {
	if e.After == 0 {
		return "never"
	}
	return spanText(e.After) + " after the last use"
}

func retentionText(r memento.Retention) string {
	versions := fmt.Sprintf("the last %s of each memory", plural(r.Versions, "version", "versions"))
	switch {
	case r.None():
		return "none"
	case r.Age == memento.Forever:
		return "forever"
	case r.Age == 0:
		return versions
	case r.Versions <= 1:
		return spanText(r.Age)
	}
	return spanText(r.Age) + ", and " + versions
}
