package cryptstore

import (
	"sync"
	"sync/atomic"

	"memento"
)

const (
	// textsBytes bounds the texts that are held, roughly, sealed and in clear.
	textsBytes = 16 << 20

	// One that is larger than this is not held, and each counts for more than its bytes.
	maxTextBytes = textsBytes / 8
	textOverhead = 512
)

// texts holds what was sealed and opened lately, in clear, for agents read the same
// few memories over and over. What is kept is compared byte for byte each time, so a
// text is never older than the storage, nor other than decrypting it would give.
//
// It has two halves. New texts go into the young one; when that is full it becomes the
// old one, whose texts are dropped unless they were used again.
type textCache struct {
	mu         sync.Mutex
	young, old map[cachedTextKey]cachedText
	bytes      int // in young

	generations atomic.Int64 // how often everything was forgotten
}

// A textKey has one text, the memory's newest: the one before is not read again.
type cachedTextKey struct {
	keys   *keys // by which it was sealed or opened
	memory memento.MemoryID
}

type cachedText struct {
	stored     string
	digest     string
	text, hash string
	by         memento.VersionID
}

func (c *textCache) get(k cachedTextKey) (o cachedText, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o, ok = c.young[k]; ok {
		return o, true
	}
	if o, ok = c.old[k]; ok {
		c.add(k, o)
	}
	return o, ok
}

// age returns what put is to be told of a text that the storage is asked for, or
// given, from now on.
func (c *textCache) generation() int64 { return c.generations.Load() }

// put holds a text, unless everything was forgotten since age was asked for: that may
// have been because of this one.
func (c *textCache) put(k cachedTextKey, o cachedText, age int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if age == c.generations.Load() && o.size() <= maxTextBytes {
		c.add(k, o)
	}
}

func (o *cachedText) size() int { return len(o.stored) + len(o.text) + textOverhead }

func (c *textCache) add(k cachedTextKey, o cachedText) {
	if c.young == nil || c.bytes >= textsBytes/2 {
		c.young, c.old, c.bytes = map[cachedTextKey]cachedText{}, c.young, 0
	}
	if before, ok := c.young[k]; ok {
		c.bytes -= before.size()
	}
	c.young[k] = o
	c.bytes += o.size()
}

// clear forgets everything, because something must not be remembered.
func (c *textCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old, c.bytes = nil, nil, 0
	c.generations.Add(1)
}

// open is keys.open, unless the answer is known. age is that of texts, from before the
// storage was asked.
func (b *Backend) cachedDecryptText(k *keys, memory memento.MemoryID, kept, digest string, size int64, age int64) (text, hash string, by memento.VersionID, err error) {
	key := cachedTextKey{k, memory}
	if o, ok := b.texts.get(key); ok && o.stored == kept && o.digest == digest && int64(len(o.text)) == size {
		return o.text, o.hash, o.by, nil
	}
	text, hash, by, err = k.decryptText(memory, kept, digest, size)
	if err == nil {
		b.texts.put(key, cachedText{kept, digest, text, hash, by}, age)
	}
	return text, hash, by, err
}

// written holds what a version wrote, for it is often read next.
func (b *Backend) cacheWritten(k *keys, s *sealedText, v *memento.Version, hash string, age int64) {
	b.texts.put(cachedTextKey{k, v.Memory}, cachedText{s.stored, v.Digest, s.text, hash, v.ID}, age)
}
