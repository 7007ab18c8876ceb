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
type texts struct {
	mu         sync.Mutex
	young, old map[textKey]opened
	bytes      int // in young

	cleared atomic.Int64 // how often everything was forgotten
}

// A textKey has one text, the memory's newest: the one before is not read again.
type textKey struct {
	keys   *keys // by which it was sealed or opened
	memory memento.MemoryID
}

type opened struct {
	kept       string
	digest     string
	text, hash string
	by         memento.VersionID
}

func (c *texts) get(k textKey) (o opened, ok bool) {
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
func (c *texts) age() int64 { return c.cleared.Load() }

// put holds a text, unless everything was forgotten since age was asked for: that may
// have been because of this one.
func (c *texts) put(k textKey, o opened, age int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if age == c.cleared.Load() && o.size() <= maxTextBytes {
		c.add(k, o)
	}
}

func (o *opened) size() int { return len(o.kept) + len(o.text) + textOverhead }

func (c *texts) add(k textKey, o opened) {
	if c.young == nil || c.bytes >= textsBytes/2 {
		c.young, c.old, c.bytes = map[textKey]opened{}, c.young, 0
	}
	if before, ok := c.young[k]; ok {
		c.bytes -= before.size()
	}
	c.young[k] = o
	c.bytes += o.size()
}

// clear forgets everything, because something must not be remembered.
func (c *texts) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old, c.bytes = nil, nil, 0
	c.cleared.Add(1)
}

// open is keys.open, unless the answer is known. age is that of texts, from before the
// storage was asked.
func (b *Backend) open(k *keys, memory memento.MemoryID, kept, digest string, size int64, age int64) (text, hash string, by memento.VersionID, err error) {
	key := textKey{k, memory}
	if o, ok := b.texts.get(key); ok && o.kept == kept && o.digest == digest && int64(len(o.text)) == size {
		return o.text, o.hash, o.by, nil
	}
	text, hash, by, err = k.open(memory, kept, digest, size)
	if err == nil {
		b.texts.put(key, opened{kept, digest, text, hash, by}, age)
	}
	return text, hash, by, err
}

// written holds what a version wrote, for it is often read next.
func (b *Backend) written(k *keys, s *sealed, v *memento.Version, hash string, age int64) {
	b.texts.put(textKey{k, v.Memory}, opened{s.kept, v.Digest, s.text, hash, v.ID}, age)
}
