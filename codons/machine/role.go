package machine

import "fmt"

// Role is one of the two sides of a conversation. The zero value is [Initiator].
type Role uint8

// The two roles.
const (
	Initiator Role = iota // sends the opening act
	Responder             // answers it
)

var roleNames = [...]string{Initiator: "initiator", Responder: "responder"}

// Roles returns both roles, the initiator first.
func Roles() [2]Role { return [2]Role{Initiator, Responder} }

// Other returns the opposite role.
func (r Role) Other() Role { return r ^ 1 }

// Valid reports whether r is one of the two roles.
func (r Role) Valid() bool { return int(r) < len(roleNames) }

// String returns initiator or responder.
func (r Role) String() string {
	if !r.Valid() {
		return fmt.Sprintf("Role(%d)", uint8(r))
	}
	return roleNames[r]
}

// MarshalText writes the name. It fails for a value that is not a role.
func (r Role) MarshalText() ([]byte, error) {
	if !r.Valid() {
		return nil, fmt.Errorf("machine: %s has no name", r)
	}
	return []byte(roleNames[r]), nil
}

// UnmarshalText reads what MarshalText writes.
func (r *Role) UnmarshalText(b []byte) error {
	for _, role := range Roles() {
		if roleNames[role] == string(b) {
			*r = role
			return nil
		}
	}
	return fmt.Errorf("machine: %.32q is not a role", b)
}
