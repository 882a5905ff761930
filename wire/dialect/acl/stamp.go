package acl

import (
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// systemStamper is the default Stamper of a Codec.
type systemStamper struct{}

// Stamp returns a random UUID and the time.
func (systemStamper) Stamp() performatives.Stamp {
	return performatives.Stamp{ID: performatives.NewID(), Time: time.Now().UTC()}
}

// appendTime appends t as RFC 3339 in UTC, in quotes (addenda §1).
func appendTime(dst []byte, t time.Time) []byte {
	dst = append(dst, '"')
	dst = t.UTC().AppendFormat(dst, time.RFC3339Nano)
	return append(dst, '"')
}
