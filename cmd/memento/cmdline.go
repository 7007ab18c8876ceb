package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// checkArgs makes a command report wrong arguments by its own usage, as in
// "cat needs a path: memento cat PATH".
func checkArgs(c *cobra.Command) {
	check := c.Args
	if check == nil {
		return
	}
	c.Args = func(c *cobra.Command, args []string) error {
		err := check(c, args)
		if _, ours := errors.AsType[usageError](err); err == nil || ours {
			return err
		}
		name := strings.TrimPrefix(c.CommandPath(), "memento ")
		if c.HasAvailableSubCommands() && len(args) > 0 {
			return unknownCommand(c, args[0])
		}
		want := requiredArgs(c.Use)
		switch {
		case len(args) < len(want):
			return usageError{hint(fmt.Errorf("%s needs %s: %s", name, argWord(want[len(args)]), synopsis(c)), `"%s --help" shows examples`, c.CommandPath())}
		case len(want) == 0 && !strings.Contains(c.Use, " "):
			return usage("%s takes no arguments", name)
		}
		return usageError{hint(fmt.Errorf("%s takes no argument %q: %s", name, args[len(args)-1], synopsis(c)), `"%s --help" shows examples`, c.CommandPath())}
	}
}

// checkGlobalFlags refuses flags of all commands that a command would ignore.
func checkGlobalFlags(c *cobra.Command) error {
	noStore := []string{"serve", "console", "config", "gateway", "keys", "stores", "maintain", "backup", "encryption", "version", "completion", "help"}
	noWorkspace := []string{"serve", "config", "backup", "encryption", "version", "completion", "help"}
	name := strings.TrimPrefix(c.CommandPath(), "memento ")
	first, _, _ := strings.Cut(name, " ")
	global := func(flag string) bool {
		f := c.Root().PersistentFlags().Lookup(flag)
		return f.Changed && c.Flags().Lookup(flag) == f
	}
	switch {
	case global("store") && slices.Contains(noStore, first) && name != "stores settings":
		return usage("%s takes no --store", name)
	case global("workspace") && slices.Contains(noWorkspace, first):
		return usage("%s takes no --workspace", name)
	}
	return nil
}

// requiredArgs returns the names of the arguments that the usage of a command requires, in
// its first form.
func requiredArgs(use string) (names []string) {
	form, _, _ := strings.Cut(use, " | ")
	for _, word := range strings.Fields(form)[1:] {
		if strings.HasPrefix(word, "[") || strings.HasPrefix(word, "-") {
			break
		}
		names = append(names, strings.TrimSuffix(word, "..."))
	}
	return names
}

// argWord describes an argument by its name in a usage text.
func argWord(name string) string {
	words := map[string]string{
		"PATH": "a path", "PATH|VERSION": "a path", "FROM": "a source and a target", "TO": "a target", "QUERY": "words to search for",
		"NAME": "a name", "NEW": "a new name", "VERSION": "a version", "KEY": "the ID of a key", "FILE": "a file",
		"FILE|FOLDER": "a file or a folder", "PATTERN": "a pattern", "ID": "an ID", "FOLDER": "a folder", "STORE": "a store",
	}
	if w := words[name]; w != "" {
		return w
	}
	return name
}

// synopsis returns the usage of a command on one line.
func synopsis(c *cobra.Command) string {
	parent := ""
	if c.HasParent() {
		parent = c.Parent().CommandPath() + " "
	}
	return parent + c.Use
}

// unknownCommand returns the error for a command that does not exist.
func unknownCommand(parent *cobra.Command, typed string) error {
	var names []string
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand() {
			names = append(append(names, c.Name()), c.Aliases...)
		}
	}
	err := fmt.Errorf("there is no command %q", strings.TrimPrefix(parent.CommandPath()+" "+typed, "memento "))
	if found := near(typed, names); found != "" {
		return usageError{hint(err, "did you mean %q?", strings.TrimPrefix(parent.CommandPath()+" "+found, "memento "))}
	}
	if parent.Name() == "backup" { // "backup FILE", as other programs have it
		return usageError{hint(err, `to write a backup there: memento backup create %s`, typed)}
	}
	return usageError{hint(err, `"%s --help" lists the commands`, parent.CommandPath())}
}

// flagError rewords the errors of the parser of flags.
func flagError(c *cobra.Command, err error) error {
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		name := "--" + wrong.GetFlag().Name
		switch kind := wrong.GetFlag().Value.Type(); {
		case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"), kind == "number":
			return usage("%s needs a number, not %q", name, wrong.GetValue())
		case kind == "bool":
			return usage("%s needs true or false, not %q", name, wrong.GetValue())
		}
		return usage("%s: %q: %w", name, wrong.GetValue(), wrong.Unwrap())
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		value, _ := pflag.UnquoteUsage(missing.GetFlag())
		return usage("--%s needs a value: --%[1]s %s", missing.GetFlag().Name, strings.ToUpper(value))
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		dashes := "--"
		if unknown.GetSpecifiedShortnames() != "" {
			dashes = "-"
		}
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		err := fmt.Errorf("there is no flag %s%s for %q", dashes, unknown.GetSpecifiedName(), c.CommandPath())
		if found := near(unknown.GetSpecifiedName(), names); found != "" && dashes == "--" {
			return usageError{hint(err, "did you mean --%s?", found)}
		}
		return usageError{hint(err, `"%s --help" lists the flags`, c.CommandPath())}
	}
	return err
}

// helpCommand replaces the library's command, which succeeds for unknown topics.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command or a topic",
		Example: `  memento help cat
  memento help exit-codes
  memento help flags`,
		ValidArgsFunction: func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			at, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var found []string
			for _, sub := range at.Commands() {
				if (sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand()) && strings.HasPrefix(sub.Name(), typed) {
					found = append(found, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return found, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			at := c.Root()
			for _, name := range args {
				i := slices.IndexFunc(at.Commands(), func(sub *cobra.Command) bool { return sub.Name() == name || sub.HasAlias(name) })
				if i < 0 {
					return unknownCommand(at, name)
				}
				at = at.Commands()[i]
			}
			at.InitDefaultHelpFlag()
			return at.Help()
		},
	}
}

// flagsTopic is the help topic with the flags of all commands, which the help of a command
// only names.
func flagsTopic() *cobra.Command {
	c := &cobra.Command{
		Use:   "flags",
		Short: "Flags of all commands",
		Long: `These flags can be given to every command, before or after its name. A command that does
not use a flag, such as --store, refuses it.`,
	}
	c.SetHelpFunc(func(c *cobra.Command, _ []string) {
		c.Printf("%s\n\n%s\n", c.Long, strings.TrimRight(c.Root().PersistentFlags().FlagUsages(), " \n"))
	})
	return c
}

// usageText writes the usage of a command. Unlike the library's, it names the flags of all
// commands on one line.
func usageText(c *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:")
	for form := range strings.SplitSeq(c.UseLine(), " | ") {
		if !strings.HasPrefix(form, "memento") {
			form = "memento " + form
		}
		b.WriteString("\n  " + form)
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\n  " + c.CommandPath() + " COMMAND")
	}
	if len(c.Aliases) > 0 {
		b.WriteString("\n\nAliases:\n  " + c.NameAndAliases())
	}
	if c.HasExample() {
		b.WriteString("\n\nExamples:\n" + c.Example)
	}
	list := func(title string, include func(*cobra.Command) bool) {
		first := true
		for _, sub := range c.Commands() {
			if !include(sub) {
				continue
			}
			if first {
				b.WriteString("\n\n" + title)
				first = false
			}
			b.WriteString("\n  " + sub.Name() + strings.Repeat(" ", max(0, sub.NamePadding()-len(sub.Name()))) + " " + sub.Short)
		}
	}
	for _, g := range c.Groups() {
		list(g.Title, func(sub *cobra.Command) bool { return sub.IsAvailableCommand() && sub.GroupID == g.ID })
	}
	list("Commands:", func(sub *cobra.Command) bool { return sub.IsAvailableCommand() && sub.GroupID == "" })
	list("Help topics:", func(sub *cobra.Command) bool { return sub.IsAdditionalHelpTopicCommand() })
	if flags := c.NonInheritedFlags(); c.HasParent() && flags.HasAvailableFlags() {
		b.WriteString("\n\nFlags:\n" + strings.TrimRight(flags.FlagUsages(), " \n"))
	}
	if inherited := toolWide(c); inherited.HasAvailableFlags() {
		b.WriteString("\n\nFlags of all " + strconv.Quote(c.Parent().Name()) + " commands:\n" + strings.TrimRight(inherited.FlagUsages(), " \n"))
	}
	var global []string
	c.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) { global = append(global, "--"+f.Name) })
	b.WriteString("\n\nFlags of all commands (\"memento help flags\"):\n" + wrapped(global, 90))
	if c.HasAvailableSubCommands() {
		b.WriteString("\n\n\"" + c.CommandPath() + " COMMAND --help\" shows the details and examples of a command.")
	}
	c.Print(b.String() + "\n")
	return nil
}

// toolWide returns the flags that a command has from its parents, without those of all
// commands.
func toolWide(c *cobra.Command) *pflag.FlagSet {
	set := pflag.NewFlagSet(c.Name(), pflag.ContinueOnError)
	c.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if c.Root().PersistentFlags().Lookup(f.Name) != f {
			set.AddFlag(f)
		}
	})
	return set
}

// wrapped joins words to indented lines of at most width characters.
func wrapped(words []string, width int) string {
	lines := []string{" "}
	for _, w := range words {
		if last := lines[len(lines)-1]; len(last)+1+len(w) > width {
			lines = append(lines, " ")
		}
		lines[len(lines)-1] += " " + w
	}
	return strings.Join(lines, "\n")
}
