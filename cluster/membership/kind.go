package membership

import "fmt"

// String returns the name of the kind.
func (k Kind) String() string {
	switch k {
	case Joined:
		return "Joined"
	case Updated:
		return "Updated"
	case Left:
		return "Left"
	case Failed:
		return "Failed"
	case Raised:
		return "Raised"
	default:
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
}

// String returns the kind and the incarnation, for logs.
func (e Event) String() string { return e.Kind.String() + " " + e.Member.Incarnation.String() }
