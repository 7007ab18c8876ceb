package s3store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"memento"
)

// With any object damaged, methods return that it is damaged, or that the store cannot be
// read. They neither run for ever nor crash the process.
func TestDamaged(t *testing.T) {
	prefix := "damaged/" + random()
	b := openHasty(t, prefix, nil, time.Minute)
	b.keepLog, b.inline = time.Hour, 50
	info, err := b.CreateStore(t.Context(), "tests", memento.StoreSpec{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	write(t, b, info.ID, "/a", "first")
	write(t, b, info.ID, "/a", "second")
	write(t, b, info.ID, "/large", strings.Repeat("large ", 20))
	v, err := b.Get(t.Context(), info.ID, memento.ByPath("/a"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, b, info.ID, "/a", "third")
	if _, err := b.Redact(t.Context(), info.ID, v.Version, memento.Actor{}); err != nil { // which writes a checkpoint
		t.Fatal(err)
	}
	write(t, b, info.ID, "/b", "first")
	write(t, b, info.ID, "/b", "second")
	found, err := b.s3.list(t.Context(), storeDir(info.ID), "", 0, true)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, o := range found {
		kind, _, _ := strings.Cut(o.key[len(storeDir(info.ID)):], "/")
		kinds[kind] = true
		whole, _, err := b.s3.get(t.Context(), o.key)
		if err != nil {
			t.Fatal(err)
		}
		n, _ := parseLogKey(o.key)
		damages := map[string][]byte{
			"empty": {}, "half": whole[:len(whole)/2], "null": []byte("null\n"), "noise": []byte(strings.Repeat("\x1f\x8b\x08 noise", 10)),
			"a stub":          stub(n),
			"null versions":   fmt.Appendf(nil, "{\"format\":1,\"n\":%d,\"versions\":[null]}\n", n),
			"negative sizes":  fmt.Appendf(nil, "{\"format\":1,\"n\":%d,\"sizes\":[-1,9]}\n", n),
			"negative places": fmt.Appendf(nil, "{\"format\":1,\"n\":%d,\"versions\":[{\"i\":\"v\",\"s\":4,\"m\":\"m\",\"o\":\"created\",\"p\":\"/b\",\"c\":1,\"r\":{\"n\":-1,\"i\":-1}}]}\n", n),
			"missing parts":   []byte(`{"format":1,"end":3,"base":{"key":"nowhere","n":3},"segments":[{"key":"nowhere","from":1,"to":3,"first":1,"last":3,"meta":10,"size":20}]}`),
			"negative parts":  fmt.Appendf(nil, `{"format":1,"end":3,"segments":[{"key":%q,"from":1,"to":3,"first":1,"last":3,"meta":-5,"size":-9}]}`, o.key),
			"a far end":       []byte(`{"format":1,"end":9223372036854775806}`),
			"deleted":         []byte(`{"format":1,"end":-3,"deleted":true}`),
		}
		if kind == "history" || kind == "base" {
			for name, text := range map[string]string{
				"null records": `{"format":1,"records":[null]}`, "null in records": `{"format":1,"records":[{"n":1,"versions":[null]}]}`,
				"null heads": `{"format":1,"info":{},"heads":[{},{}]}`, "wild spans": `{"format":1,"contents":[{"n":2,"o":9223372036854775807,"s":9}]}`,
			} {
				var v any = rawJSON(text)
				if damages[name], err = pack(v); err != nil {
					t.Fatal(err)
				}
			}
		}
		for name, data := range damages {
			if err := b.s3.write(t.Context(), o.key, data); err != nil {
				t.Fatal(err)
			}
			fresh := openHasty(t, prefix, nil, time.Minute)
			fresh.keepLog, fresh.compactEvery, fresh.s3.retryTimeout = time.Hour, 1000, 50*time.Millisecond
			for call, err := range everyReading(t, fresh, info.ID, v.Version) {
				if err != nil && !errors.Is(err, memento.ErrFormat) && !errors.Is(err, memento.ErrDamaged) && !errors.Is(err, memento.ErrUnavailable) &&
					!errors.Is(err, memento.ErrNotExist) && !errors.Is(err, memento.ErrNoStore) {
					t.Errorf("%s of %s: %s: %v", name, kind, call, err)
				}
			}
			if err := fresh.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := b.s3.write(t.Context(), o.key, whole); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []string{"base", "contents", "history", "log", "manifest"} {
		if !kinds[kind] {
			t.Errorf("no %s was damaged", kind)
		}
	}
	fresh := openHasty(t, prefix, nil, time.Minute)
	for call, err := range everyReading(t, fresh, info.ID, v.Version) {
		if err != nil {
			t.Errorf("repaired: %s: %v", call, err)
		}
	}
}

type rawJSON string

func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// everyReading reads a store in every way, and does a dry run of Prune.
func everyReading(t *testing.T, b *Backend, id memento.StoreID, version memento.VersionID) map[string]error {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	said := map[string]error{}
	_, said["Get"] = b.Get(ctx, id, memento.ByPath("/b"))
	for _, err := range b.List(ctx, id, memento.ListOptions{Contents: true}) {
		said["List"] = err
	}
	for _, err := range b.ListVersions(ctx, id, memento.VersionListOptions{Contents: true}) {
		said["ListVersions"] = err
	}
	_, said["GetVersion"] = b.GetVersion(ctx, id, version)
	_, said["Prune"] = b.Prune(ctx, id, memento.PruneOptions{Before: time.Now().Add(time.Hour), DryRun: true})
	return said
}
