package sqlitestore

import (
	"sync"

	"memento"
)

// cacheBytes bounds the texts that are kept, roughly: a few thousand notes.
const cacheBytes = 12 << 20

// A cache keeps texts by their hash, so what is kept is never out of date: which
// text a memory has at present is read from the database every time. Whatever is kept
// had its hash when it came in.
//
// It has two halves. New texts go into the young one; when that is full it
// becomes the old one, whose texts are dropped unless they were used again.
type cache struct {
	mu         sync.Mutex
	young, old map[string]cached
	bytes      int // in young
}

// A cached text comes with the version that was last found to be its memory's newest, and
// to have this text.
type cached struct {
	text    string
	store   int64
	version memento.VersionID
}

func (c *cache) get(hash string) (text cached, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if text, ok = c.young[hash]; ok {
		return text, true
	}
	if text, ok = c.old[hash]; ok {
		c.add(hash, text)
	}
	return text, ok
}

func (c *cache) put(hash string, text cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(hash, text)
}

func (c *cache) add(hash string, text cached) {
	if c.young == nil || c.bytes >= cacheBytes/2 {
		c.young, c.old, c.bytes = map[string]cached{}, c.young, 0
	}
	c.bytes += len(text.text) - len(c.young[hash].text)
	c.young[hash] = text
}

// remove forgets a text. If something else has the same text, it is read again.
func (c *cache) remove(hash string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes -= len(c.young[hash].text)
	delete(c.young, hash)
	delete(c.old, hash)
}

// clear forgets everything, because something must not be remembered.
func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old, c.bytes = nil, nil, 0
}
