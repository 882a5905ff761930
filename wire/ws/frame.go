package ws

import (
	"encoding/binary"
	"math/rand/v2"
)

// A frame is a byte with flags and opcode, the payload length in 1, 3 or 9 bytes, the masking
// key (clients only), and the payload (RFC 6455 §5.2).
const (
	finBit     = 0x80
	deflateBit = 0x40 // the message is compressed (RFC 7692 §6)
	maskBit    = 0x80 // flag in the length byte

	maxHeader  = 14
	maxControl = 125 // largest payload of a control frame in bytes
)

// appendHeader appends the header of a frame with a payload of n bytes, without the masking
// key.
func appendHeader(dst []byte, first byte, n int, masked bool) []byte {
	var mark byte
	if masked {
		mark = maskBit
	}
	switch {
	case n <= 125:
		return append(dst, first, mark|byte(n))
	case n <= 0xffff:
		return binary.BigEndian.AppendUint16(append(dst, first, mark|126), uint16(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, first, mark|127), uint64(n))
}

// newMask returns an unpredictable masking key (RFC 6455 §5.3): math/rand/v2 uses ChaCha8
// with a seed from the operating system.
func newMask() (key [4]byte) {
	binary.LittleEndian.PutUint32(key[:], rand.Uint32())
	return key
}

// mask masks or unmasks b in place.
func mask(b []byte, key [4]byte) {
	k := uint64(binary.LittleEndian.Uint32(key[:]))
	k |= k << 32
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^k)
		b = b[8:]
	}
	for i := range b {
		b[i] ^= key[i&3]
	}
}
