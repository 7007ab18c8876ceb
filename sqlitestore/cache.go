package sqlitestore

import "sync"

// cacheBytes bounds the texts that are kept, roughly: a few thousand notes.
const cacheBytes = 12 << 20

// A cache keeps texts by their hash, so what is kept is never out of date: which
// text a memory has at present is read from the database every time.
//
// It has two halves. New texts go into the young one; when that is full it
// becomes the old one, whose texts are dropped unless they were used again.
type cache struct {
	mu         sync.Mutex
	young, old map[string]string
	bytes      int // in young
}

func (c *cache) get(hash string) (text string, ok bool) {
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

func (c *cache) put(hash string, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(hash, text)
}

func (c *cache) add(hash string, text string) {
	if c.young == nil || c.bytes >= cacheBytes/2 {
		c.young, c.old, c.bytes = map[string]string{}, c.young, 0
	}
	c.young[hash] = text
	c.bytes += len(text)
}

// remove forgets a text. If something else has the same text, it is read again.
func (c *cache) remove(hash string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes -= len(c.young[hash])
	delete(c.young, hash)
	delete(c.old, hash)
}

// clear forgets everything, because something must not be remembered.
func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old, c.bytes = nil, nil, 0
}
