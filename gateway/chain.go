package gateway

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"strings"
)

// A chain identifies a conversation by what the application sees of it, message by
// message. Applications store conversations in their own way, so only what they cannot
// change counts: words, the IDs of calls, the signatures of thinking. Texts that follow
// one another count as one, and so do messages of one role.
type chain struct {
	before [sha256.Size]byte // of the messages before those of the present role
	role   string
	items  bytes.Buffer
	text   strings.Builder
}

// A chainKey identifies a conversation up to a message.
type chainKey = [sha256.Size]byte

// begin starts a message.
func (c *chain) begin(role string) {
	if role == c.role {
		return
	}
	c.before = c.sum()
	c.role = role
	c.items.Reset()
	c.text.Reset()
}

// add adds a content block.
func (c *chain) add(b object) {
	kind := b.str("type")
	mark := ""
	switch kind {
	case "text":
		c.text.WriteString(b.str("text"))
		return
	case "tool_use", "server_tool_use", "mcp_tool_use":
		mark = b.str("id")
	case "thinking":
		mark = b.str("signature")
	case "redacted_thinking":
		mark = b.str("data")
	default:
		mark = b.str("tool_use_id")
	}
	c.item("t", strings.TrimSpace(c.text.String()))
	c.text.Reset()
	c.item("b"+kind, mark)
}

func (c *chain) item(kind, text string) {
	if kind == "t" && text == "" {
		return
	}
	for _, s := range []string{kind, text} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		c.items.Write(n[:])
		c.items.WriteString(s)
	}
}

// empty reports whether the present role has said nothing.
func (c *chain) empty() bool {
	return c.items.Len() == 0 && strings.TrimSpace(c.text.String()) == ""
}

// sum returns what identifies the conversation up to here.
func (c *chain) sum() [sha256.Size]byte {
	if c.role == "" {
		return [sha256.Size]byte{}
	}
	h := sha256.New()
	h.Write(c.before[:])
	last := chain{}
	last.item("r", c.role)
	h.Write(last.items.Bytes())
	h.Write(c.items.Bytes())
	last.items.Reset()
	last.item("t", strings.TrimSpace(c.text.String()))
	h.Write(last.items.Bytes())
	return [sha256.Size]byte(h.Sum(nil))
}
