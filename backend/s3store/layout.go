package s3store

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"memento"
	"memento/backend/textindex"
)

// Keys below the prefix. No key is the directory of another, and no part of a key is empty
// or a dot, because some servers store objects as files. docs/s3.md lists the keys.
const (
	formatKey  = "memento"
	storesDir  = "stores/"
	catalogDir = "catalogue/"
	namesDir   = "names/"
	keysDir    = "keys/hash/"
	keyIDsDir  = "keys/id/"
	leasesDir  = "duties/"
	notesDir   = "notes/"
	probesDir  = "probes/"
)

func storeDir(id memento.StoreID) string { return storesDir + string(id) + "/" }

func logDir(id memento.StoreID) string { return storeDir(id) + "log/" }

func logKey(id memento.StoreID, n int64) string { return fmt.Sprintf("%s%020d", logDir(id), n) }

func manifestKey(id memento.StoreID) string { return storeDir(id) + "manifest" }

func readsKey(id memento.StoreID) string { return storeDir(id) + "reads" }

func blobDir(id memento.StoreID) string { return storeDir(id) + "contents/" }

func blobKey(id memento.StoreID, name string) string { return blobDir(id) + name }

func checkpointDir(id memento.StoreID) string { return storeDir(id) + "base/" }

func segmentDir(id memento.StoreID) string { return storeDir(id) + "history/" }

// Keys of checkpoints and segments contain the tag of the manifest that they were made for.
// It tells whether an object that no manifest names may still be named by the next one.
func checkpointKey(id memento.StoreID, n int64, on *manifest) string {
	return fmt.Sprintf("%s%020d%s%s", checkpointDir(id), n, on.tag(), random()[:16])
}

func segmentKey(id memento.StoreID, from int64, on *manifest) string {
	return fmt.Sprintf("%s%020d%s%s", segmentDir(id), from, on.tag(), random()[:16])
}

// indexKey is the key of the descriptor of a store's search index.
func indexKey(id memento.StoreID) string { return storeDir(id) + "index" }

func indexSegmentDir(id memento.StoreID) string { return storeDir(id) + "words/" }

// Keys of the index's segments contain the tag of the descriptor that they were made for, as
// those of checkpoints do.
func indexSegmentKey(id memento.StoreID, segment textindex.SegmentID, on *indexVersion) string {
	return fmt.Sprintf("%s%020d%s%s", indexSegmentDir(id), segment, on.tag(), random()[:16])
}

func noteKey(name string) string { return notesDir + name }

func catalogueDir(ws memento.Workspace) string { return catalogDir + workspaceName(ws) + "/" }

func catalogueKey(ws memento.Workspace, id memento.StoreID) string {
	return catalogueDir(ws) + spread(newestFirst(id))
}

// spread cuts the name of a marker into directories, which does not change the order of
// names. With IDs that memento has made, the directories span three days, four minutes and
// a quarter of a second. A server that stores objects as files reads whole directories for
// a page of a listing; this keeps them at about a thousand entries.
func spread(name string) string {
	var dirs strings.Builder
	from := 0
	for _, to := range []int{4, 6, 8} {
		if len(name) > to {
			dirs.WriteString(name[from:to] + "/")
			from = to
		}
	}
	return dirs.String() + name[from:]
}

// namePrefix is the beginning of the keys of a name's objects. It is not a directory: a
// server that stores objects as files, when it lists a directory that does not exist,
// reads those above it. Of the 256 directories here each soon exists.
func namePrefix(ws memento.Workspace, name string) string {
	hash := hashed(string(ws) + "\x00" + name)
	return namesDir + hash[:2] + "/" + hash + "-"
}

func nameMarker(ws memento.Workspace, name string, id memento.StoreID) string {
	return nameMarkers(ws, name) + newestFirst(id)
}

// nameMarkers is the beginning of the keys of a name's markers.
func nameMarkers(ws memento.Workspace, name string) string { return namePrefix(ws, name) + "s-" }

func claimKey(ws memento.Workspace, name string) string { return namePrefix(ws, name) + "claim" }

// workspaceName encodes a workspace as a part of a key, with only characters that every
// server accepts, and never as a dot.
func workspaceName(ws memento.Workspace) string {
	if ws.Check() == nil {
		return "w-" + string(ws)
	}
	return "x-" + hex.EncodeToString([]byte(ws))
}

func parseWorkspace(name string) (memento.Workspace, bool) {
	if ws, ok := strings.CutPrefix(name, "w-"); ok {
		return memento.Workspace(ws), true
	}
	raw, err := hex.DecodeString(strings.TrimPrefix(name, "x-"))
	return memento.Workspace(raw), err == nil && strings.HasPrefix(name, "x-")
}

const storePrefix = "memstore_"

// alphabet is the characters of store IDs, in byte order.
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// newestFirst encodes an ID so that the encoded IDs sort in reverse order, because listings
// only ascend: it replaces each character by its opposite in the alphabet, and ends with a
// character that sorts after all of them.
func newestFirst(id memento.StoreID) string {
	text := []byte(strings.TrimPrefix(string(id), storePrefix))
	for i, c := range text {
		if at := strings.IndexByte(alphabet, c); at >= 0 {
			text[i] = alphabet[len(alphabet)-1-at]
		}
	}
	return string(text) + "~"
}

// parseMarker decodes the part of a marker's key after the prefix to the ID.
func parseMarker(name string) (memento.StoreID, bool) {
	text, ok := strings.CutSuffix(strings.ReplaceAll(name, "/", ""), "~")
	raw := []byte(text)
	for i, c := range raw {
		at := strings.IndexByte(alphabet, c)
		if at < 0 {
			return "", false
		}
		raw[i] = alphabet[len(alphabet)-1-at]
	}
	return memento.StoreID(storePrefix + string(raw)), ok && len(raw) > 0
}

// isStoreID reports whether an ID can be part of a key.
func isStoreID(id memento.StoreID) bool {
	text, ok := strings.CutPrefix(string(id), storePrefix)
	return ok && text != "" && len(text) <= 64 && strings.Trim(text, alphabet) == ""
}

// hashed returns a hash of an arbitrary text, for use in a key.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// random returns 128 random bits in hexadecimal digits.
func random() string {
	var bits [16]byte
	rand.Read(bits[:]) // never fails: crypto/rand
	return hex.EncodeToString(bits[:])
}
