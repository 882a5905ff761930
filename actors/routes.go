package actors

import "slices"

// routes has the subscriptions of a stream, and for each kind the subscriptions that want it. It is never changed.
type routes struct {
	all   []*Subscription
	every []recipient        // for kinds that no subscription names
	named [routeSlots]*route // by the slot of the kind
}

// route has the subscriptions that want a kind which at least one of them names.
type route struct {
	kind       Kind
	recipients []recipient
	next       *route // of the same slot
}

// recipient is a subscription, and in one with batches, the column of the events of a kind.
type recipient struct {
	s      *Subscription
	column int
}

const routeSlots = 64

// slot returns the slot of a kind. It uses the last letter, a middle one and the length, in which kinds differ most.
func (k Kind) slot() int {
	n := len(k)
	if n == 0 {
		return 0
	}
	return (int(k[n-1]) + int(k[n/2])<<1 + n<<2) % routeSlots
}

// newRoutes returns the routes to the subscriptions. They are nil for none, so that Wants is one load again.
func newRoutes(all []*Subscription) *routes {
	if len(all) == 0 {
		return nil
	}
	r := &routes{all: all}
	for _, s := range all {
		if s.kinds == nil {
			r.every = append(r.every, recipient{s: s})
		}
	}
	for _, s := range all {
		for _, kind := range s.kinds {
			if slot := kind.slot(); r.find(kind) == nil {
				r.named[slot] = &route{kind, recipientsOf(all, kind), r.named[slot]}
			}
		}
	}
	return r
}

func recipientsOf(all []*Subscription, kind Kind) (recipients []recipient) {
	for _, s := range all {
		if s.kinds == nil {
			recipients = append(recipients, recipient{s: s})
		} else if i := slices.Index(s.kinds, kind); i >= 0 {
			recipients = append(recipients, recipient{s, i})
		}
	}
	return recipients
}

func (r *routes) find(kind Kind) *route {
	for at := r.named[kind.slot()]; at != nil; at = at.next {
		if at.kind == kind {
			return at
		}
	}
	return nil
}

// to returns the subscriptions that want a kind, in the order in which they were made. r may be nil.
func (r *routes) to(kind Kind) []recipient {
	if r == nil {
		return nil
	}
	if named := r.find(kind); named != nil {
		return named.recipients
	}
	return r.every
}
