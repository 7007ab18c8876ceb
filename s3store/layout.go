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
	probesDir  = "probes/"
)

func storeDir(id memento.StoreID) string { return storesDir + string(id) + "/" }

func logDir(id memento.StoreID) string { return storeDir(id) + "log/" }

func logKey(id memento.StoreID, n int64) string { return fmt.Sprintf("%s%020d", logDir(id), n) }

func manifestKey(id memento.StoreID) string { return storeDir(id) + "manifest" }

func readsKey(id memento.StoreID) string { return storeDir(id) + "reads" }

func blobDir(id memento.StoreID) string { return storeDir(id) + "contents/" }

func blobKey(id memento.StoreID, name string) string { return blobDir(id) + name }

func baseDir(id memento.StoreID) string { return storeDir(id) + "base/" }

func segmentDir(id memento.StoreID) string { return storeDir(id) + "history/" }

// Keys of bases and segments tell on which manifest they were made, so that who finds
// one that no manifest names knows whether one still may.
func baseKey(id memento.StoreID, n int64, on *manifest) string {
	return fmt.Sprintf("%s%020d%s%s", baseDir(id), n, on.tag(), random()[:16])
}

func segmentKey(id memento.StoreID, from int64, on *manifest) string {
	return fmt.Sprintf("%s%020d%s%s", segmentDir(id), from, on.tag(), random()[:16])
}

func catalogueKey(ws memento.Workspace, id memento.StoreID) string {
	return catalogDir + workspaceName(ws) + "/" + newestFirst(id)
}

func nameDir(ws memento.Workspace, name string) string {
	return namesDir + workspaceName(ws) + "/" + hashed(name) + "/"
}

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

func parseNewestFirst(name string) (memento.StoreID, bool) {
	text, ok := strings.CutSuffix(name, "~")
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
