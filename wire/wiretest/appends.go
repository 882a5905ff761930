package wiretest

import (
	"bytes"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// failer is the part of a test that reports a fault, also of a property.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
}

// Encode returns what the codec of a session makes of a message. The frame has to be behind what
// was there before, and nothing is there besides after an error.
func Encode(t failer, c interface {
	Encode(dst []byte, m *performatives.Message) ([]byte, error)
}, m *performatives.Message,
) ([]byte, error) {
	t.Helper()
	out, err := c.Encode([]byte(before), m)
	if out = behind(t, out); err != nil && len(out) > 0 {
		t.Errorf("an error and %s: %v", out, err)
	}
	return out, err
}

// Refuse is [Encode] for the answer to a message that was refused with an error.
func Refuse(t failer, c interface {
	Refuse(dst []byte, in wire.Inbound, err error) []byte
}, in wire.Inbound, err error,
) []byte {
	t.Helper()
	return behind(t, c.Refuse([]byte(before), in, err))
}

const before = "before "

// behind returns what was appended to before: nil for nothing.
func behind(t failer, out []byte) []byte {
	t.Helper()
	appended, ok := bytes.CutPrefix(out, []byte(before))
	if !ok {
		t.Errorf("what was before is lost: %s", out)
	}
	if len(appended) == 0 {
		return nil
	}
	return appended
}
