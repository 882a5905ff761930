package wire

import (
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// wallStamper is the default stamper.
type wallStamper struct{}

// Stamp returns a random id and the current time.
func (wallStamper) Stamp() performatives.Stamp {
	return performatives.Stamp{ID: performatives.NewID(), Time: time.Now()}
}
