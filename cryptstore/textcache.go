package cryptstore

import (
	"sync"
	"sync/atomic"

	"memento"
)

const (
	// textsBytes is the approximate size of the cache: texts in plaintext and encrypted.
	textsBytes = 16 << 20

	// Larger texts are not cached, and each text counts for more than its bytes.
	maxTextBytes = textsBytes / 8
	textOverhead = 512
)

// A textCache caches recently encrypted and decrypted texts, because agents read the same
// few memories repeatedly. The stored form is compared byte by byte each time, so a cached
// text is never older than the storage, and never different from what decrypting would
// give.
//
// It has two generations. New texts are added to the young one. When that is full, it
// becomes the old one, whose texts are dropped unless they were used again.
type textCache struct {
	mu         sync.Mutex
	young, old map[cachedTextKey]cachedText
	bytes      int // in young

	generations atomic.Int64 // how often everything was forgotten
}

// A cachedTextKey identifies the newest text of a memory: older ones are not read again.
type cachedTextKey struct {
	keys   *keys // with which it was encrypted or decrypted
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

// generation returns a value to pass to put, for a text that is read from or written to the
// storage after this call.
func (c *textCache) generation() int64 { return c.generations.Load() }

// put caches a text, unless the cache was cleared since generation was called: it may have
// been cleared because of this text.
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

// clear empties the cache, because a text must not be kept.
func (c *textCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old, c.bytes = nil, nil, 0
	c.generations.Add(1)
}

// cachedDecryptText is keys.decryptText with the cache. age is the cache's generation
// before the storage was read.
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

// cacheWritten caches the text that a version wrote, because it is often read next.
func (b *Backend) cacheWritten(k *keys, s *sealedText, v *memento.Version, hash string, age int64) {
	b.texts.put(cachedTextKey{k, v.Memory}, cachedText{s.stored, v.Digest, s.text, hash, v.ID}, age)
}
