package server

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Webhook is a URL that receives events. Exactly one of Secret, SecretEnv and
// SecretFile gives the secret that signs messages: "whsec_" and the base64 of 24 to 64
// bytes.
type Webhook struct {
	URL        string
	Secret     string   // the secret itself
	SecretEnv  string   // the environment variable that contains it
	SecretFile string   // the file that contains it
	Events     []string // none: all
	// AllowPrivate allows plain HTTP, and an address of this machine or of a private
	// network.
	AllowPrivate bool

	line int
	key  []byte // the decoded secret
}

// webhookEvents returns the events that webhooks receive. Source: Anthropic's webhooks
// for memory stores.
func webhookEvents() []string {
	return []string{"memory_store.created", "memory_store.archived", "memory_store.deleted"}
}

// webhookField is a row of the table of a webhook's keys in the file.
type webhookField struct {
	key, meaning string
	text         func(*Webhook) *string
}

func webhookFields() []webhookField {
	return []webhookField{
		{"url", "URL that receives the messages: https, unless `allow_private`", func(w *Webhook) *string { return &w.URL }},
		{"secret", "signing secret: `whsec_` and the base64 of 24 to 64 bytes", func(w *Webhook) *string { return &w.Secret }},
		{"secret_env", "instead of `secret`: the environment variable that contains it", func(w *Webhook) *string { return &w.SecretEnv }},
		{"secret_file", "instead of `secret`: the file that contains it", func(w *Webhook) *string { return &w.SecretFile }},
		{"events", "events to send: a list of `memory_store.created`, `memory_store.archived` and `memory_store.deleted`; default: all", nil},
		{"allow_private", "`true` allows plain http and addresses of this machine or of private networks", nil},
	}
}

// webhooks reads the list of webhooks.
func (d *document) webhooks(n *yaml.Node) {
	n = resolve(n)
	d.config.origins["webhooks"] = origin{source: FromFile, line: n.Line}
	if n.Kind != yaml.SequenceNode {
		d.errorf("webhooks", n.Line, "expected a list of entries with a url and a secret, not %s", describe(n))
		return
	}
	for i, item := range n.Content {
		prefix := fmt.Sprintf("webhooks[%d].", i)
		if item = resolve(item); item.Kind != yaml.MappingNode {
			d.errorf(strings.TrimSuffix(prefix, "."), item.Line, "expected a mapping with a url and a secret, not %s", describe(item))
			continue
		}
		w := Webhook{line: item.Line}
		d.pairs(prefix, item, func(name string, line int, v *yaml.Node) { d.webhookField(&w, prefix, name, line, resolve(v)) })
		d.config.Webhooks = append(d.config.Webhooks, w)
	}
}

func (d *document) webhookField(w *Webhook, prefix, name string, line int, v *yaml.Node) {
	text := v.Kind == yaml.ScalarNode && v.Tag != "!!null"
	switch name {
	case "events":
		ok := v.Kind == yaml.SequenceNode && len(v.Content) > 0
		if ok {
			for _, e := range v.Content {
				ok = ok && slices.Contains(webhookEvents(), resolve(e).Value)
				w.Events = append(w.Events, resolve(e).Value)
			}
		}
		if !ok {
			d.errorf(prefix+name, line, "expected a list of %s", strings.Join(webhookEvents(), ", "))
		}
		return
	case "allow_private":
		v, err := boolean.parse(v.Value)
		if err != nil {
			d.errorf(prefix+name, line, "%v", err)
		}
		w.AllowPrivate = v
		return
	}
	for _, f := range webhookFields() {
		if f.key == name {
			if !text || v.Value == "" {
				d.errorf(prefix+name, line, "expected a string")
				return
			}
			*f.text(w) = v.Value
			return
		}
	}
	var known []string
	for _, f := range webhookFields() {
		known = append(known, f.key)
	}
	d.errorf(prefix+name, line, "unknown setting of a webhook; there are %s", strings.Join(known, ", "))
}

// findSecret reads and decodes the secret that signs messages. Its errors do not
// contain it.
func (w *Webhook) findSecret(getenv func(string) string) error {
	given := 0
	for _, s := range []string{w.Secret, w.SecretEnv, w.SecretFile} {
		if s != "" {
			given++
		}
	}
	secret, where := w.Secret, "secret"
	switch {
	case given != 1:
		return errors.New("exactly one of secret, secret_env and secret_file is required")
	case w.SecretEnv != "":
		where = "secret_env"
		if secret = getenv(w.SecretEnv); secret == "" {
			return errors.New("secret_env: the variable is not set")
		}
	case w.SecretFile != "":
		where = "secret_file"
		text, err := os.ReadFile(w.SecretFile)
		if err != nil {
			return errors.New("secret_file: it cannot be read: " + cause(err))
		}
		secret = strings.TrimSpace(string(text))
	}
	encoded, ok := strings.CutPrefix(secret, "whsec_")
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(key) < 24 || len(key) > 64 {
		return fmt.Errorf(`%s: must be "whsec_" and the base64 of 24 to 64 random bytes; "openssl rand -base64 32" generates them`, where)
	}
	w.key = key
	return nil
}

// checkURL returns an error if the URL of a webhook is not valid.
func (w *Webhook) checkURL() error {
	u, err := url.Parse(w.URL)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("url: must be a URL such as https://app.example/hook")
	case u.Scheme == "http" && !w.AllowPrivate:
		return errors.New("url: must be https; in a private network, allow_private: true permits http")
	case u.User != nil || u.Fragment != "":
		return errors.New("url: must have no user, password or fragment; messages are signed instead")
	}
	return nil
}

// host returns the host of the URL. Other parts of the URL may be secret.
func (w *Webhook) host() string {
	u, err := url.Parse(w.URL)
	if err != nil {
		return ""
	}
	return u.Host
}

// wants reports whether the webhook receives an event.
func (w *Webhook) wants(event string) bool {
	return len(w.Events) == 0 || slices.Contains(w.Events, event)
}

func (c *Config) webhookError(i int, format string, args ...any) ConfigError {
	return ConfigError{
		Setting: fmt.Sprintf("webhooks[%d]", i), Source: FromFile, Line: c.Webhooks[i].line,
		Message: fmt.Sprintf(format, args...),
	}
}
