package sqlitestore

import (
	"memento"
	"memento/internal/textcache"
)

// cacheBytes is the approximate size of the text cache: some thousand notes.
const cacheBytes = 12 << 20

// A cachedText is a text, and the version that was last found to be its memory's newest and
// to have this text.
//
// The cache has texts by their hash, so a cached text is never outdated: which text a memory
// has is read from the database every time. Every text was compared with its hash before it
// was cached.
type cachedText struct {
	text    string
	store   int64
	version memento.VersionID
}

func newTextCache() *textcache.Cache[string, cachedText] {
	return textcache.New[string](cacheBytes, func(c *cachedText) int { return len(c.text) })
}
