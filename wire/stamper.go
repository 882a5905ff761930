package wire

import (
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// wallStamper is the stamper of those who bring none.
type wallStamper struct{}

// Stamp returns a random id and the wall clock's time.
func (wallStamper) Stamp() performatives.Stamp {
	return performatives.Stamp{ID: performatives.NewID(), Time: time.Now()}
}
