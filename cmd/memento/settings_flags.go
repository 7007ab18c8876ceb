package main

import (
	"fmt"
	"slices"

	"memento"

	"github.com/spf13/cobra"
)

// settingFlags are the settings of a store as flags. Of each list, a flag adds
// entries, and the same flag with "remove-" before it removes them.
type settingFlags struct {
	sensitive       string
	personal        bool
	expireAfter     span
	historyAge      span
	historyVersions int
	noHistory       bool

	lists []*listFlag
}

// A listFlag is a list in the settings as two flags.
type listFlag struct {
	name        string
	add, remove []string
}

// The names of the lists.
const (
	flagAllow        = "allow"
	flagAllowPattern = "allow-pattern"
	flagAllowPath    = "allow-path"
	flagKeep         = "keep"
	flagReadOnly     = "read-only"
)

// add adds the flags to a command; those that remove entries only where there
// can be some.
func (f *settingFlags) add(c *cobra.Command, removing bool) {
	flags := c.Flags()
	flags.StringVar(&f.sensitive, "sensitive", "", "what becomes of secrets that are written: mask, reject or off")
	flags.BoolVar(&f.personal, "personal", false, "whether personal data is sensitive too")
	f.expireAfter = span{word: "never"}
	flags.Var(&f.expireAfter, "expire-after", "how long memories live that nobody reads or writes: "+spanForms+", or never")
	f.historyAge = span{word: "forever", means: memento.Forever}
	flags.Var(&f.historyAge, "history-age", "how long versions are kept that were replaced: "+spanForms+", or forever")
	flags.IntVar(&f.historyVersions, "history-versions", 0, "how many versions of each memory are kept, however old")
	flags.BoolVar(&f.noHistory, "no-history", false, "keep no history: what is replaced or removed is gone")
	for _, list := range []struct{ name, kind, usage string }{
		{flagAllow, "text", "a `text` that is not sensitive, though it looks so (may be repeated)"},
		{flagAllowPattern, "expression", "a regular `expression`: texts that wholly match are not sensitive (may be repeated)"},
		{flagAllowPath, "pattern", "a `pattern` of paths: memories that may hold anything (may be repeated)"},
		{flagKeep, "pattern", "a `pattern` of paths: memories that never expire (may be repeated)"},
		{flagReadOnly, "pattern", "a `pattern` of paths: memories that nobody can change (may be repeated)"},
	} {
		l := &listFlag{name: list.name}
		f.lists = append(f.lists, l)
		flags.StringArrayVar(&l.add, l.name, nil, list.usage)
		if removing {
			flags.StringArrayVar(&l.remove, "remove-"+l.name, nil, "takes a `"+list.kind+"` away that --"+l.name+" added")
		}
	}
	c.MarkFlagsMutuallyExclusive("no-history", "history-age")
	c.MarkFlagsMutuallyExclusive("no-history", "history-versions")
	_ = c.RegisterFlagCompletionFunc("sensitive", cobra.FixedCompletions(
		[]string{string(memento.Mask), string(memento.Reject), string(memento.Off)}, cobra.ShellCompDirectiveNoFileComp))
}

// settings returns s with what was given on the command line.
func (f *settingFlags) settings(c *cobra.Command, s memento.Settings) (memento.Settings, error) {
	given := c.Flags().Changed
	if given("sensitive") {
		s.Sensitive.Mode = memento.SensitiveMode(f.sensitive)
	}
	if given("personal") {
		s.Sensitive.Personal = f.personal
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
		case flagKeep:
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
	names := []string{"sensitive", "personal", "expire-after", "history-age", "history-versions", "no-history"}
	for _, l := range f.lists {
		names = append(names, l.name, "remove-"+l.name)
	}
	return slices.ContainsFunc(names, c.Flags().Changed)
}

// changeList returns a list without the entries to be removed, which must be
// there, and with those to be added, which may be.
func changeList[T ~string](list []T, l *listFlag) ([]T, error) {
	list = slices.Clone(list)
	for _, text := range l.remove {
		i := slices.Index(list, T(text))
		if i < 0 {
			// What is allowed may be what must not be repeated.
			return nil, hint(fmt.Errorf("what --remove-%s names %w among the store's settings", l.name, memento.ErrNotExist),
				`"memento stores settings" shows what there is`)
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

// settingRows describes settings for people, a row each.
func settingRows(s memento.Settings) [][2]string {
	mode := string(s.Sensitive.Mode)
	if s.Sensitive.Mode != memento.Off && s.Sensitive.Personal {
		mode += ", personal data too"
	}
	rows := [][2]string{{"sensitive", mode}}
	rows = appendRows(rows, flagAllow, s.Sensitive.Allow)
	rows = appendRows(rows, flagAllowPattern, s.Sensitive.AllowPatterns)
	rows = appendRows(rows, flagAllowPath, s.Sensitive.AllowPaths)
	rows = append(rows, [2]string{"expiry", expiryText(s.Expiry)})
	rows = appendRows(rows, flagKeep, s.Expiry.Keep)
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
