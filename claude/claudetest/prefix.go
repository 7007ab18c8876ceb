package claudetest

import (
	"crypto/sha256"
	"hash"
	"maps"
)

// prefixes computes what a thinking block is bound to: tools, system prompt and the
// messages before its own, without cache_control and without other thinking.
// Messages of one role in a row are one message, and a text is one text block.
// Everything before the last compaction block is left out, as the API does.
type prefixes struct {
	sums []([16]byte) // by message: of everything before the message that it is part of
}

func (r *request) newPrefixes() prefixes {
	base := sha256.New()
	base.Write(encode(stripped(map[string]any{"tools": visibleTools(r.fields["tools"]), "system": asBlocks(r.fields["system"])})))

	p := prefixes{sums: make([][16]byte, len(r.messages)+1)}
	h, start := clone(base), 0
	for i := 0; i <= len(r.messages); i++ {
		if i == len(r.messages) || (i > 0 && r.messages[i].role != r.messages[i-1].role) {
			merged := blocksOf(r.messages[start:i])
			for j, b := range merged {
				if b["type"] == "compaction" {
					// What came before is not read; a message that holds the
					// block is not bound to it either.
					h = clone(base)
					merged = merged[j:]
					for k := start; k < i; k++ {
						p.sums[k] = sum(h)
					}
					break
				}
			}
			if i > start {
				h.Write([]byte(r.messages[start].role))
				for _, b := range merged {
					if _, _, thought := thoughtOf(b); !thought {
						h.Write(encode(stripped(b)))
					}
				}
			}
			start = i
		}
		p.sums[i] = sum(h)
	}
	return p
}

// before returns the hash of everything before message i; before(len) is for an
// answer that begins a new message.
func (p prefixes) before(i int) [16]byte { return p.sums[i] }

func blocksOf(messages []message) (all []map[string]any) {
	for _, m := range messages {
		all = append(all, m.blocks...)
	}
	return all
}

// clone returns a copy of a SHA-256 under way.
func clone(h hash.Hash) hash.Hash {
	c, err := h.(hash.Cloner).Clone()
	if err != nil {
		panic("claudetest: " + err.Error()) // SHA-256 of the standard library can be cloned
	}
	return c
}

func sum(h hash.Hash) (s [16]byte) {
	copy(s[:], clone(h).Sum(nil))
	return s
}

// asBlocks returns a text as a list with one text block.
func asBlocks(v any) any {
	if s, ok := v.(string); ok {
		return []any{map[string]any{"type": "text", "text": s}}
	}
	return v
}

// visibleTools returns the tools without those that are loaded later.
func visibleTools(v any) []any {
	list, _ := v.([]any)
	var visible []any
	for _, t := range list {
		if t := t.(map[string]any); t["defer_loading"] != true {
			visible = append(visible, t)
		}
	}
	return visible
}

// stripped returns v without cache_control, at any depth, and without null members.
func stripped(v any) any {
	switch v := v.(type) {
	case map[string]any:
		v = maps.Clone(v)
		delete(v, "cache_control")
		for name, inner := range v {
			if inner == nil {
				delete(v, name)
				continue
			}
			v[name] = stripped(inner)
		}
		return v
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = stripped(v[i])
		}
		return list
	}
	return v
}
