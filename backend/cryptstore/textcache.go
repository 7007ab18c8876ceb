package cryptstore

import (
	"memento"
	"memento/internal/textcache"
)

const (
	// textsBytes is the approximate size of the cache: texts in plaintext and encrypted.
	textsBytes = 16 << 20

	// Larger texts are not cached, and each text counts for more than its bytes.
	maxTextBytes = textsBytes / 8
	textOverhead = 512
)

// A textCache caches recently encrypted and decrypted texts, because agents read the same few
// memories repeatedly. The stored form is compared byte by byte each time, so a cached text is
// never older than the storage, and never different from what decrypting would give.
type textCache = textcache.Cache[cachedTextKey, cachedText]

func newTextCache() *textCache {
	return textcache.New[cachedTextKey](textsBytes, (*cachedText).size)
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

func (o *cachedText) size() int { return len(o.stored) + len(o.text) + textOverhead }

// cacheText caches a text, unless it is too large, or the cache was cleared since its Clears has
// returned clears.
func (b *Backend) cacheText(k cachedTextKey, t cachedText, clears int64) {
	if t.size() <= maxTextBytes {
		b.texts.PutUnlessCleared(k, t, clears)
	}
}

// cachedDecryptText is keys.decryptText with the cache. clears is that of
// the cache before the storage was read.
func (b *Backend) cachedDecryptText(k *keys, memory memento.MemoryID, kept, digest string, size int64, clears int64) (text, hash string, by memento.VersionID, err error) {
	key := cachedTextKey{k, memory}
	if o, ok := b.texts.Get(key); ok && o.stored == kept && o.digest == digest && int64(len(o.text)) == size {
		return o.text, o.hash, o.by, nil
	}
	text, hash, by, err = k.decryptText(memory, kept, digest, size)
	if err == nil {
		b.cacheText(key, cachedText{kept, digest, text, hash, by}, clears)
	}
	return text, hash, by, err
}

// cacheWritten caches the text that a version wrote, because it is often read next.
func (b *Backend) cacheWritten(k *keys, s *sealedText, v *memento.Version, hash string, clears int64) {
	b.cacheText(cachedTextKey{k, v.Memory}, cachedText{s.stored, v.Digest, s.text, hash, v.ID}, clears)
}
