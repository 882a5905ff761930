package tcp

import (
	"encoding/binary"
	"fmt"

	"github.com/ribosome-agents/ribosome/performatives"
)

// form is a format of frame headers (addenda §5).
type form uint8

const (
	undecided form = iota // the peer has sent nothing yet
	plain                 // 7 bytes
	flagged               // 8 bytes, after gzip has been negotiated
	versioned             // 16 bytes
)

// The fixed bytes of the headers.
const (
	magic0, magic1 = 0x4D, 0x43 // MC, in every form
	magic2, magic3 = 0x50, 0x00 // bytes 2 and 3 of the versioned form
	version        = 1
	gzipped        = 1 << 0 // flag
)

// headerLen returns the length of the form's header in bytes.
func (f form) headerLen() int { return [...]int{undecided: 7, plain: 7, flagged: 8, versioned: 16}[f] }

// role is the purpose of a frame, independent of the form.
type role uint8

const (
	data role = iota + 1 // the first five equal the types of the plain form
	ping
	pong
	failure
	closing
	health  // ping or pong of the versioned form
	propose // proposal of versions
	agree   // answer to a proposal
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

// header is the parsed header of a frame.
type header struct {
	form       form
	role       role
	typ        uint16 // type as transmitted
	compressed bool
	length     uint32 // of the payload as transmitted
}

// parse parses a header of form f at the front of b, which may be incomplete: then ok is
// false. An invalid byte is reported as soon as it is present.
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

// detect returns the form of a connection by its first bytes, or undecided if there are too
// few.
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

// checkMagic checks the first two bytes, as far as they are present.
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
	case v != version:
		return h, false, refuse("version %d of the frame header is not supported; version %d is", v, version)
	case len(b) < versioned.headerLen():
		return h, false, nil
	case binary.BigEndian.Uint32(b[8:]) != 0:
		return h, false, refuse("the reserved bits 0x%08X of the frame header are not zero", binary.BigEndian.Uint32(b[8:]))
	}
	return header{form: versioned, role: versionedRoles[typ], typ: typ, length: binary.BigEndian.Uint32(b[12:])}, true, nil
}

// append appends the encoded header to dst.
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

// refuse returns the refusal for a violation of the framing. The text may contain numbers
// from the peer's data, but no other part of it.
func refuse(format string, args ...any) *performatives.Refusal {
	return &performatives.Refusal{Code: performatives.CodeParsingError, Text: fmt.Sprintf(format, args...)}
}
