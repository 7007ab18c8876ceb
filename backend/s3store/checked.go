package s3store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

// Records of the log and manifests end with a checksum, so that a flipped bit in them is
// detected. The last field of the JSON object is "check": the CRC-32C of all bytes before
// its comma, as 8 hexadecimal digits. Objects of older versions have no such field, and
// are read without it. Segments and checkpoints do not need it: they are gzip, which has
// a checksum of its own, and contents have their hash.

const (
	checkStart = `,"check":"`
	checkEnd   = `"}`
	checkLen   = len(checkStart) + 8 + len(checkEnd)
)

var (
	castagnoli  = crc32.MakeTable(crc32.Castagnoli)
	errChecksum = errors.New("the checksum is wrong")
)

// marshalChecked returns v, a struct with at least one field, as JSON with a checksum.
func marshalChecked(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	data = bytes.TrimSuffix(data, []byte("}"))
	return fmt.Appendf(data, checkStart+"%08x"+checkEnd, crc32.Checksum(data, castagnoli)), nil
}

// unmarshalChecked reads JSON, and its checksum if it has one.
func unmarshalChecked(data []byte, v any) error {
	if hasCheck(data) {
		n := len(data) - checkLen
		if want := fmt.Sprintf(checkStart+"%08x"+checkEnd, crc32.Checksum(data[:n], castagnoli)); string(data[n:]) != want {
			return errChecksum
		}
	}
	return json.Unmarshal(data, v)
}

func hasCheck(data []byte) bool {
	n := len(data) - checkLen
	return n >= 0 && bytes.HasPrefix(data[n:], []byte(checkStart))
}
