package s3store

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A bit flipped in an object with a checksum is an error, or makes no difference. Objects
// without a checksum are still read.
func TestChecked(t *testing.T) {
	is := record{Format: recordFormat, N: 7, Commit: "abc", Versions: []*version{{ID: "memver_1", Seq: 3, Memory: "mem_1", Operation: "created", Path: "/a", SHA256: "00ff", Size: 2, Ref: &ref{N: 7}}}}
	data, err := marshalChecked(&is)
	if err != nil {
		t.Fatal(err)
	}
	var plain record
	if err := json.Unmarshal(data, &plain); err != nil || cmp.Diff(is, plain, cmp.AllowUnexported(record{})) != "" {
		t.Errorf("to a reader that knows no checksums: %+v, %v", plain, err)
	}
	refused := 0
	for at := range data {
		for bit := range 8 {
			flipped := append([]byte{}, data...)
			flipped[at] ^= 1 << bit
			var got record
			if unmarshalChecked(flipped, &got) != nil {
				refused++
			} else if diff := cmp.Diff(is, got, cmp.AllowUnexported(record{})); diff != "" {
				t.Fatalf("bit %d of byte %d:\n%s", bit, at, diff)
			}
		}
	}
	if refused < 8*(len(data)-checkLen) {
		t.Errorf("%d of %d flipped bits are refused", refused, 8*len(data))
	}
	old, err := json.Marshal(&is)
	if err != nil {
		t.Fatal(err)
	}
	var got record
	if err := unmarshalChecked(old, &got); err != nil || cmp.Diff(is, got, cmp.AllowUnexported(record{})) != "" {
		t.Errorf("without a checksum: %+v, %v", got, err)
	}
}
