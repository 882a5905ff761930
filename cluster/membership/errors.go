package membership

import "errors"

var (
	// ErrStopped means that the membership was stopped, or that it left.
	ErrStopped = errors.New("membership: stopped")
	// ErrUnknownMember means that no member alive is of the incarnation.
	ErrUnknownMember = errors.New("membership: unknown member")
	// ErrTooLong means that data is longer than its limit.
	ErrTooLong = errors.New("membership: data too long")
	// ErrMetadata means that the addresses and labels of a node do not fit into a member's
	// description of itself.
	ErrMetadata = errors.New("membership: metadata too long")
	// ErrNameTaken means that another node alive has the name.
	ErrNameTaken = errors.New("membership: name taken by another node")
)
