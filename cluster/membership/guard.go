package membership

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/hashicorp/go-msgpack/v2/codec"
)

// memberlist numbers the claims about a member by 32 bits, and the member contradicts a false claim
// by the next number. After the greatest one that is 0, which all others ignore: one packet with it
// to a cluster without keys would keep the member out for good. The guard takes such claims out of
// packets that are not encrypted. Claims that come over a stream pass: see [Gossip.doubt].

// maxClaim is the greatest number of a claim that is heard. A node that changes its description
// each millisecond has a greater one after 24 days.
const maxClaim = 1 << 31

// The types of memberlist's messages that the guard looks into, or makes of others.
const (
	typeSuspect  = 3
	typeAlive    = 4
	typeDead     = 5
	typeCompound = 7
	typeUser     = 8
	typeCompress = 9
	typeCRC      = 12
	typeLabel    = 244
)

var errClaim = errors.New("a claim about a member was dropped, whose number leaves no room for a contradiction")

// defuse makes claims with a greater number than maxClaim in a packet ineffective, in place, and
// reports whether there was one: each becomes a message of the application that no format has. So
// does a compressed message, which no member sends.
func defuse(b []byte) (found bool) {
	if len(b) == 0 {
		return false
	}
	switch b[0] {
	case typeLabel:
		return len(b) > 1 && len(b) > 2+int(b[1]) && defuse(b[2+int(b[1]):])
	case typeCRC:
		if len(b) < 5 || binary.BigEndian.Uint32(b[1:]) != crc32.ChecksumIEEE(b[5:]) {
			return false // memberlist drops it
		}
		if found = defuse(b[5:]); found {
			binary.BigEndian.PutUint32(b[1:], crc32.ChecksumIEEE(b[5:]))
		}
	case typeCompound:
		if len(b) < 2 || len(b) < 2+2*int(b[1]) {
			return false
		}
		lengths, rest := b[2:2+2*int(b[1])], b[2+2*int(b[1]):]
		for ; len(lengths) > 0; lengths = lengths[2:] {
			n := int(binary.BigEndian.Uint16(lengths))
			if n > len(rest) {
				break
			}
			found = defuse(rest[:n]) || found
			rest = rest[n:]
		}
	case typeCompress:
		b[0], found = typeUser, true
	case typeSuspect, typeAlive, typeDead:
		var claim struct{ Incarnation uint32 } // the first field of each
		if codec.NewDecoderBytes(b[1:], &codec.MsgpackHandle{}).Decode(&claim) == nil && claim.Incarnation > maxClaim {
			b[0], found = typeUser, true
		}
	}
	return found
}
