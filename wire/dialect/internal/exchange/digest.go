package exchange

import (
	"crypto/sha256"
	"encoding/binary"
)

// Digest returns a digest of some texts, and of the payload of a message. The boundaries of the
// texts count.
func Digest(payload []byte, texts ...string) (sum [sha256.Size]byte) {
	var room [512]byte
	b := room[:0]
	for _, text := range texts {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	h := sha256.New()
	_, _ = h.Write(b) // never fails
	_, _ = h.Write(payload)
	h.Sum(sum[:0])
	return sum
}
