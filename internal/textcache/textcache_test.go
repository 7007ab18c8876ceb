package textcache

import (
	"fmt"
	"strings"
	"testing"
)

func newTestCache(maxBytes int) *Cache[string, string] {
	return New[string](maxBytes, func(text *string) int { return len(*text) })
}

// want checks which of the keys are in the cache, without using them.
func want(t *testing.T, when string, c *Cache[string, string], keys ...string) {
	t.Helper()
	found := map[string]bool{}
	bytes := 0
	for key, text := range c.young {
		found[key] = true
		bytes += len(text)
	}
	for key := range c.old {
		found[key] = true
	}
	for _, key := range keys {
		if !found[key] {
			t.Errorf("%s: %q is missing", when, key)
		}
		delete(found, key)
	}
	for key := range found {
		t.Errorf("%s: %q is there", when, key)
	}
	if c.bytes != bytes {
		t.Errorf("%s: %d bytes are counted, and the young generation has %d", when, c.bytes, bytes)
	}
}

func TestGenerations(t *testing.T) {
	c := newTestCache(20) // ten bytes in a generation
	five := strings.Repeat("x", 5)
	if _, ok := c.Get("a"); ok {
		t.Error("an empty cache has a value")
	}
	c.Put("a", five)
	c.Put("b", five)
	want(t, "one generation", c, "a", "b")
	c.Put("c", five)
	want(t, "two generations", c, "a", "b", "c")
	if text, ok := c.Get("a"); !ok || text != five {
		t.Errorf("a is %q, %t", text, ok)
	}
	c.Put("d", five) // a and c are the old generation now, b is dropped
	want(t, "after a use", c, "a", "c", "d")
	if _, ok := c.Get("b"); ok {
		t.Error("b was not used, and is there")
	}
	c.Put("e", five)
	c.Put("f", five)
	want(t, "without a use", c, "d", "e", "f")
}

func TestReplacedAndRemoved(t *testing.T) {
	c := newTestCache(20)
	for n := range 100 { // a value that is set again takes no place of others
		c.Put("a", fmt.Sprintf("%04d", n))
		c.Put("b", "b")
	}
	want(t, "replaced", c, "a", "b")
	if text, _ := c.Get("a"); text != "0099" {
		t.Errorf("a is %q", text)
	}
	c.Put("c", "1234567890") // larger than what is left
	c.Put("d", "d")          // in the next generation
	c.Remove("a")            // of the old one
	c.Remove("d")            // of the young one
	c.Remove("none")
	want(t, "removed", c, "b", "c")
	for _, key := range []string{"a", "d"} {
		if _, ok := c.Get(key); ok {
			t.Errorf("%s was removed, and is there", key)
		}
	}
	c.Put("e", strings.Repeat("e", 1000)) // larger than the cache: only until the next generation
	c.Put("f", "f")
	c.Put("g", strings.Repeat("g", 1000))
	c.Put("h", "h")
	want(t, "large values", c, "f", "g", "h")
}

func TestClear(t *testing.T) {
	c := newTestCache(20)
	before := c.Clears()
	c.PutUnlessCleared("a", "a", before)
	want(t, "not cleared", c, "a")
	c.Put("b", "1234567890")
	c.Put("c", "c")
	c.Clear()
	want(t, "cleared", c)
	c.PutUnlessCleared("a", "a", before)
	want(t, "put after it was cleared", c)
	c.Put("b", "b")
	c.PutUnlessCleared("a", "a", c.Clears())
	want(t, "put again", c, "a", "b")
}
