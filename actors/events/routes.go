package events

import "slices"

// routes has the subscriptions of a stream, and for each kind the subscriptions that want it. It is
// never changed.
type routes struct {
	all   []*Subscription
	every route              // for kinds that no subscription names
	named [routeSlots]*route // by the slot of the kind
	lanes *lanes             // nil if there are no batches
}

// route has the subscriptions that want a kind, each list in the order in which they were made.
type route struct {
	kind    Kind
	single  []*Subscription // those that get their events one at a time
	batches []batchColumn
	next    *route // of the same slot
}

// nowhere is the route of a kind without subscriptions.
var nowhere route

func (r *route) empty() bool { return len(r.single) == 0 && len(r.batches) == 0 }

// room reports whether the batches have room for one more event in a lane, which is locked.
func (r *route) room(lane int) bool {
	for i := range r.batches {
		if b := r.batches[i].b; b.crowded || len(b.parts[lane].pending) >= b.share {
			return false
		}
	}
	return true
}

const routeSlots = 64

// slot returns the slot of a kind. It uses the last letter, a middle one and the length, in which
// kinds differ most.
func (k Kind) slot() int {
	n := len(k)
	if n == 0 {
		return 0
	}
	return (int(k[n-1]) + int(k[n/2])<<1 + n<<2) % routeSlots
}

// newRoutes returns the routes to the subscriptions. They are nil for none, so that Wants is one
// load again.
func newRoutes(all []*Subscription, l *lanes) *routes {
	if len(all) == 0 {
		return nil
	}
	r := &routes{all: all, lanes: l}
	for _, s := range all {
		if s.kinds == nil {
			r.every.single = append(r.every.single, s)
		}
	}
	for _, s := range all {
		for _, kind := range s.kinds {
			if slot := kind.slot(); r.find(kind) == nil {
				r.named[slot] = routeOf(all, kind, r.named[slot])
			}
		}
	}
	return r
}

// routeOf returns the route of a kind, which is in a list before next.
func routeOf(all []*Subscription, kind Kind, next *route) *route {
	r := &route{kind: kind, next: next}
	for _, s := range all {
		if s.kinds == nil {
			r.single = append(r.single, s)
		} else if i := slices.Index(s.kinds, kind); i >= 0 && s.batches != nil {
			r.batches = append(r.batches, batchColumn{s.batches, s.batches.columns[i], i})
		} else if i >= 0 {
			r.single = append(r.single, s)
		}
	}
	return r
}

func (r *routes) find(kind Kind) *route {
	for at := r.named[kind.slot()]; at != nil; at = at.next {
		if at.kind == kind {
			return at
		}
	}
	return nil
}

// to returns the route of a kind. r may be nil.
func (r *routes) to(kind Kind) *route {
	if r == nil {
		return &nowhere
	}
	if named := r.find(kind); named != nil {
		return named
	}
	return &r.every
}
