package console

import (
	"crypto/sha256"
	"time"
)

const (
	maxEndedOfKey = 100    // sessions and links of one key that are remembered as ended
	maxEndedKeys  = 10_000 // keys of which some are
)

// endings remembers which sessions and links were ended before their time, until they would
// have ended by themselves. Whoever has a key can only fill what is remembered of that key.
type endings map[[sha256.Size]byte]*endedOfKey // by the key's hash

// endedOfKey is what ended of one key.
type endedOfKey struct {
	ids    map[string]time.Time // until when
	before time.Time            // all that began until then have ended
}

// has reports whether a session or a link was ended.
func (e endings) has(v sealed) bool {
	of := e[sha256.Sum256([]byte(v.Key))]
	if of == nil {
		return false
	}
	_, ended := of.ids[v.ID]
	return ended || !v.Start.After(of.before)
}

// add ends a session or a link. It reports whether there was room; without any, nothing of
// what was ended may be believed to go on.
func (e endings) add(v sealed, now time.Time) (ok bool) {
	key := sha256.Sum256([]byte(v.Key))
	of := e[key]
	if of == nil {
		if len(e) >= maxEndedKeys {
			for key, of := range e {
				if of.forget(now); len(of.ids) == 0 && now.Sub(of.before) > sessionTime {
					delete(e, key)
				}
			}
		}
		of = &endedOfKey{ids: map[string]time.Time{}}
		e[key] = of
	}
	if len(of.ids) >= maxEndedOfKey {
		of.forget(now)
	}
	if of.ids[v.ID] = v.End; len(of.ids) > maxEndedOfKey {
		clear(of.ids)
		of.before = now // ends all of this key, rather than forget one
	}
	return len(e) <= maxEndedKeys
}

// forget forgets what has ended by itself.
func (e *endedOfKey) forget(now time.Time) {
	for id, until := range e.ids {
		if !now.Before(until) {
			delete(e.ids, id)
		}
	}
}
