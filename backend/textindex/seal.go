package textindex

import (
	"encoding/binary"
	"hash/crc32"
)

// What a storage has of a segment ends in a checksum: CRC-32C of the segment's ID, of the
// number of the block, and of the data.

const sealSize = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// deadBlock is the number in the checksum of a segment's dead memories.
const deadBlock = -2

func checksum(id SegmentID, n int, data []byte) uint32 {
	var place [12]byte
	binary.LittleEndian.PutUint64(place[:], uint64(id))
	binary.LittleEndian.PutUint32(place[8:], uint32(int32(n)))
	return crc32.Update(crc32.Checksum(place[:], castagnoli), castagnoli, data)
}

// seal appends the checksum to a block.
func seal(id SegmentID, n int, data []byte) []byte {
	return binary.LittleEndian.AppendUint32(data, checksum(id, n, data))
}

// unseal returns a block without its checksum.
//
// Errors: ErrIndex if it does not match.
func unseal(id SegmentID, n int, sealed []byte) ([]byte, error) {
	at := len(sealed) - sealSize
	if at < 0 || binary.LittleEndian.Uint32(sealed[at:]) != checksum(id, n, sealed[:at]) {
		return nil, ErrIndex
	}
	return sealed[:at:at], nil
}

// CheckBlock returns ErrIndex unless a block of a stored segment is as it was written.
func CheckBlock(id SegmentID, n int, block []byte) error {
	_, err := unseal(id, n, block)
	return err
}

// parse returns a segment of a stored index, given its head.
func (ref StoredSegment) parse(head []byte) (*Segment, error) {
	head, err := unseal(ref.ID, HeadBlock, head)
	if err != nil {
		return nil, err
	}
	dead := ref.Dead
	if len(dead) > 0 {
		if dead, err = unseal(ref.ID, deadBlock, dead); err != nil {
			return nil, err
		}
	}
	return ParseSegment(head, dead)
}

// sealedDead returns the numbers of dead memories as a storage has them.
func (s *liveSegment) sealedDead() []byte {
	if s.Living() == s.Size() {
		return nil
	}
	return seal(s.id, deadBlock, s.Dead())
}
