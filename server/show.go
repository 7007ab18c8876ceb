package server

import (
	"bytes"
	"net/url"
	"strings"

	"go.yaml.in/yaml/v3"
)

// YAML returns the configuration as a YAML file, with the source of each setting as a
// comment. Secrets are left out.
func (c *Config) YAML() ([]byte, error) {
	top := &yaml.Node{Kind: yaml.MappingNode}
	sections := map[string]*yaml.Node{}
	for _, s := range Settings() {
		section, name, nested := strings.Cut(s.Key, ".")
		switch {
		case s.set == nil:
			if hooks := c.webhooksYAML(); hooks != nil {
				top.Content = append(top.Content, scalar(s.Key), hooks)
			}
			continue
		case !nested:
			top.Content = append(top.Content, scalar(s.Key), c.settingYAML(s))
			continue
		case sections[section] == nil:
			sections[section] = &yaml.Node{Kind: yaml.MappingNode}
			top.Content = append(top.Content, scalar(section), sections[section])
		}
		sections[section].Content = append(sections[section].Content, scalar(name), c.settingYAML(s))
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(top); err != nil {
		return nil, err
	}
	return out.Bytes(), enc.Close()
}

func scalar(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

// settingYAML returns the value of a setting, with its source as a comment.
func (c *Config) settingYAML(s Setting) *yaml.Node {
	text := s.text(c)
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	switch {
	case s.list:
		n = &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for item := range strings.SplitSeq(text, ",") {
			if item != "" {
				n.Content = append(n.Content, scalar(item))
			}
		}
	case s.Key == "backend":
		n = scalar(c.ShownBackend())
	case s.Form != "number" && s.Form != "bool":
		n = scalar(withoutUser(text))
	}
	n.LineComment = string(FromDefault)
	if o, given := c.origins[s.Key]; given {
		n.LineComment = o.String()
	}
	return n
}

// withoutUser replaces the user and password in a URL where they do not belong, also in
// a text that is not a valid URL because of them.
func withoutUser(text string) string {
	u, err := url.Parse(text)
	if err == nil && u.User != nil {
		u.User = url.User("not-shown")
		return u.String()
	}
	scheme, rest, _ := strings.Cut(text, "://")
	if i := strings.LastIndexByte(rest, '@'); err != nil && i >= 0 {
		return scheme + "://not-shown" + rest[i:]
	}
	return text
}

func (c *Config) webhooksYAML() *yaml.Node {
	if len(c.Webhooks) == 0 {
		return nil
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for i := range c.Webhooks {
		list.Content = append(list.Content, c.Webhooks[i].yaml())
	}
	return list
}

func (w *Webhook) yaml() *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	add := func(key string, v *yaml.Node) { n.Content = append(n.Content, scalar(key), v) }
	at := scalar(withoutUser(w.URL))
	at.LineComment = origin{source: FromFile, line: w.line}.String()
	if u, err := url.Parse(w.URL); err == nil && u.RawQuery != "" { // the query often contains a secret
		u.RawQuery = ""
		at.Value = u.String()
		at.LineComment += "; its query is not shown"
	}
	add("url", at)
	switch {
	case w.SecretEnv != "":
		add("secret_env", scalar(w.SecretEnv))
	case w.SecretFile != "":
		add("secret_file", scalar(w.SecretFile))
	default:
		hidden := scalar("")
		hidden.LineComment = "not shown"
		add("secret", hidden)
	}
	if len(w.Events) > 0 {
		events := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, e := range w.Events {
			events.Content = append(events.Content, scalar(e))
		}
		add("events", events)
	}
	if w.AllowPrivate {
		add("allow_private", &yaml.Node{Kind: yaml.ScalarNode, Value: "true"})
	}
	return n
}
