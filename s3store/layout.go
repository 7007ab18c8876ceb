package s3store

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"memento"
)

// Keys, below the prefix. No key is the directory of another, and no part of one is
// empty or a dot, since some servers keep objects as files. docs/s3.md has the list.
const (
	formatKey  = "memento"
	storesDir  = "stores/"
	catalogDir = "catalogue/"
	namesDir   = "names/"
	keysDir    = "keys/hash/"
	keyIDsDir  = "keys/id/"
	dutiesDir  = "duties/"
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

// Keys of bases and segments tell on which manifest they were made, so that who finds
// one that no manifest names knows whether one still may.
func checkpointKey(id memento.StoreID, n int64, on *manifest) string {
	return fmt.Sprintf("%s%020d%s%s", checkpointDir(id), n, on.tag(), random()[:16])
}

func segmentKey(id memento.StoreID, from int64, on *manifest) string {
	return fmt.Sprintf("%s%020d%s%s", segmentDir(id), from, on.tag(), random()[:16])
}

func noteKey(name string) string { return notesDir + name }

func catalogueDir(ws memento.Workspace) string { return catalogDir + workspaceName(ws) + "/" }

func catalogueKey(ws memento.Workspace, id memento.StoreID) string {
	return catalogueDir(ws) + spread(newestFirst(id))
}

// spread cuts the name of a marker into directories, in whose order the names stay:
// of three days, four minutes and a quarter of a second, if the ID is one of memento's.
// A server that keeps objects as files reads whole directories for a page of a
// listing, and so none of them has much more than a thousand entries.
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

// namePrefix begins the keys of what is known of a name. It is no directory, since such
// a server, asked for one that is not there, reads those above it: these 256 soon are.
func namePrefix(ws memento.Workspace, name string) string {
	hash := hashed(string(ws) + "\x00" + name)
	return namesDir + hash[:2] + "/" + hash + "-"
}

func nameMarker(ws memento.Workspace, name string, id memento.StoreID) string {
	return nameMarkers(ws, name) + newestFirst(id)
}

// nameMarkers begins the keys of a name's markers.
func nameMarkers(ws memento.Workspace, name string) string { return namePrefix(ws, name) + "s-" }

func claimKey(ws memento.Workspace, name string) string { return namePrefix(ws, name) + "claim" }

// workspaceName writes a workspace as a part of a key that holds only what every
// server takes, and is no dot.
func workspaceName(ws memento.Workspace) string {
	if memento.CheckWorkspace(ws) == nil {
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

// alphabet are the characters of store IDs, in byte order.
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// newestFirst writes an ID so that the order of what it returns is the reverse of
// that of IDs, as listings go upwards only: each character becomes its opposite, and
// the end is behind all of them.
func newestFirst(id memento.StoreID) string {
	text := []byte(strings.TrimPrefix(string(id), storePrefix))
	for i, c := range text {
		if at := strings.IndexByte(alphabet, c); at >= 0 {
			text[i] = alphabet[len(alphabet)-1-at]
		}
	}
	return string(text) + "~"
}

// parseMarker returns the ID of what follows the prefix in a marker's key.
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

// hashed stands for a text that may be of any form in a key.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// random returns 128 bits that nobody else has.
func random() string {
	var bits [16]byte
	rand.Read(bits[:]) // never fails: crypto/rand
	return hex.EncodeToString(bits[:])
}
