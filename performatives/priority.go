package performatives

import (
	"fmt"
	"strings"
)

// Priority is the band of a message: in a mailbox and on a link, messages of a higher
// band overtake those of a lower one. The zero value is Normal.
type Priority int8

// The four bands, lowest first. Bands compare: Low < Normal < High < Urgent.
const (
	Low    Priority = iota - 1 // background work
	Normal                     // the default
	High                       // wants prompt attention
	Urgent                     // overtakes all but the runtime's own messages
)

// Bands is the number of priorities.
const Bands = 4

// Band returns the index of p's queue: 0 for Low to 3 for Urgent. A value out
// of range goes to the nearest band.
func (p Priority) Band() int { return int(min(max(p, Low), Urgent) - Low) }

// Valid reports whether p is one of the four bands.
func (p Priority) Valid() bool { return p >= Low && p <= Urgent }

var priorityNames = [Bands]string{"low", "normal", "high", "urgent"}

// String returns the name in lower case: low, normal, high or urgent.
func (p Priority) String() string {
	if !p.Valid() {
		return fmt.Sprintf("Priority(%d)", int8(p))
	}
	return priorityNames[p.Band()]
}

// ParsePriority reads a priority as any of the specifications writes it, in any
// case: a name (low, medium, normal, high, urgent) or a digit 1 to 5, of which 1
// and 2 are Low, 3 Normal, 4 High and 5 Urgent (addenda §1). The error is a
// [*Refusal] with [CodeInvalidPayload] and the priority Normal.
func ParsePriority(s string) (Priority, error) {
	switch strings.ToLower(s) {
	case "low", "1", "2":
		return Low, nil
	case "normal", "medium", "3":
		return Normal, nil
	case "high", "4":
		return High, nil
	case "urgent", "5":
		return Urgent, nil
	}
	return Normal, invalid("priority", "low, normal, medium, high, urgent or 1 to 5", fmt.Sprintf("%.32q", s))
}
