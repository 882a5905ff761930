package tcp

import (
	"encoding/binary"
	"fmt"

	"github.com/ribosome-agents/ribosome/performatives"
)

// form is a way to write the header of a frame (addenda §5).
type form uint8

const (
	undecided form = iota // the peer has not said anything yet
	plain                 // 7 bytes
	flagged               // 8 bytes, once gzip has been agreed on
	versioned             // 16 bytes
)

// The fixed bytes of the headers.
const (
	magic0, magic1 = 0x4D, 0x43 // MC, of every form
	magic2, magic3 = 0x50, 0x00 // go on, in the versioned one
	version        = 1
	gzipped        = 1 << 0 // a flag
)

// headerLen is how many bytes a header of the form has.
func (f form) headerLen() int { return [...]int{undecided: 7, plain: 7, flagged: 8, versioned: 16}[f] }

// role is what a frame is for, in any form.
type role uint8

const (
	data role = iota + 1 // the first five are the types of the plain form
	ping
	pong
	failure
	closing
	health  // ping and pong of the versioned form
	propose // versions
	agree   // on one
)

// The types of the versioned form.
const (
	typeRequest uint16 = iota + 1
	typeResponse
	typeControl
	typeHealth
	typeError
	typePropose
	typeAgree
)

var versionedRoles = [...]role{
	typeRequest: data, typeResponse: data, typeControl: data, typeHealth: health,
	typeError: failure, typePropose: propose, typeAgree: agree,
}

// header is what the front of a frame says.
type header struct {
	form       form
	role       role
	typ        uint16 // as it is written in the form
	compressed bool
	length     uint32 // of the payload, as it travels
}

// parse reads a header of the form from the front of b, of which perhaps not all has
// come. ok says that it was complete. What is wrong is said as soon as it is there.
func (f form) parse(b []byte) (h header, ok bool, err error) {
	if err := checkMagic(b); err != nil {
		return h, false, err
	}
	switch {
	case f == versioned:
		return parseVersioned(b)
	case f == undecided || len(b) < 3:
		return h, false, nil
	}
	h = header{form: f, role: role(b[2]), typ: uint16(b[2])}
	if h.role < data || h.role > closing {
		return h, false, refuse("the frame type 0x%02X is unknown", b[2])
	}
	if f == flagged && len(b) > 3 {
		if b[3]&^gzipped != 0 {
			return h, false, refuse("the frame flags 0x%02X are unknown", b[3])
		}
		h.compressed = b[3]&gzipped != 0
	}
	n := f.headerLen()
	if len(b) < n {
		return h, false, nil
	}
	h.length = binary.BigEndian.Uint32(b[n-4:])
	return h, true, nil
}

// detect tells the form of a connection by its first bytes, when enough have come.
func detect(b []byte) form {
	switch {
	case checkMagic(b) != nil:
		return undecided
	case len(b) >= 3 && b[2] != magic2, len(b) >= 4 && b[3] != magic3:
		return plain
	case len(b) >= 4:
		return versioned
	}
	return undecided
}

// checkMagic looks at as much of the first two bytes as there is.
func checkMagic(b []byte) error {
	if len(b) > 0 && b[0] != magic0 || len(b) > 1 && b[1] != magic1 {
		return refuse("a frame does not begin with 4D 43")
	}
	return nil
}

func parseVersioned(b []byte) (h header, ok bool, err error) {
	if len(b) > 2 && b[2] != magic2 || len(b) > 3 && b[3] != magic3 {
		return h, false, refuse("a frame does not begin with 4D 43 50 00")
	}
	if len(b) < 8 {
		return h, false, nil
	}
	v, typ := binary.BigEndian.Uint16(b[4:]), binary.BigEndian.Uint16(b[6:])
	switch {
	case typ == 0 || int(typ) >= len(versionedRoles):
		return h, false, refuse("the frame type %d is unknown", typ)
	case v != version && typ != typePropose: // who proposes does not know yet
		return h, false, refuse("version %d of the frame header is not spoken here; version %d is", v, version)
	case len(b) < versioned.headerLen():
		return h, false, nil
	}
	return header{form: versioned, role: versionedRoles[typ], typ: typ, length: binary.BigEndian.Uint32(b[12:])}, true, nil
}

// append writes the header to dst.
func (h header) append(dst []byte) []byte {
	switch h.form {
	case versioned:
		dst = append(dst, magic0, magic1, magic2, magic3, 0, version)
		dst = binary.BigEndian.AppendUint16(dst, h.typ)
		dst = append(dst, 0, 0, 0, 0)
	case flagged:
		var flags byte
		if h.compressed {
			flags = gzipped
		}
		dst = append(dst, magic0, magic1, byte(h.typ), flags)
	case plain, undecided:
		dst = append(dst, magic0, magic1, byte(h.typ))
	}
	return binary.BigEndian.AppendUint32(dst, h.length)
}

// refuse says to the peer what is wrong with its framing. The text must not repeat more
// of what it sent than numbers.
func refuse(format string, args ...any) *performatives.Refusal {
	return &performatives.Refusal{Code: performatives.CodeParsingError, Text: fmt.Sprintf(format, args...)}
}
