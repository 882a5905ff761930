package acl

import (
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// systemStamper is the Stamper of a Codec that was given none.
type systemStamper struct{}

// Stamp returns a random UUID and the time.
func (systemStamper) Stamp() performatives.Stamp {
	return performatives.Stamp{ID: performatives.NewID(), Time: time.Now().UTC()}
}
