package admission

import "slices"

// group is a part of the queue: a band with a group for each agent, or an agent with one for each
// asker, or an asker with tickets. Its parts are served in turn.
type group struct {
	in       *group
	key      string
	parts    map[string]*group
	busy     int       // parts with an expected ticket
	turn     []*group  // the parts with a queued ticket, the next one first
	tickets  []*Ticket // of an asker, in order of arrival
	expected int       // tickets that are queued, or will be
	queued   int
}

// of returns the part for a key. It stays while it expects a ticket.
func (g *group) of(key string) *group {
	p := g.parts[key]
	if p == nil {
		if g.parts == nil {
			g.parts = make(map[string]*group)
		}
		p = &group{in: g, key: key}
		g.parts[key] = p
	}
	return p
}

// expect changes the number of expected tickets.
func (g *group) expect(n int) {
	g.expected += n
	if g.in == nil {
		return
	}
	if g.expected == 0 && len(g.in.parts) > keptParts {
		delete(g.in.parts, g.key)
	}
	if was := g.expected - n; was == 0 || g.expected == 0 {
		g.in.busy += n
	}
	g.in.expect(n)
}

// keptParts is how many parts a group keeps that expect no ticket.
const keptParts = 16

// ahead returns an upper bound of the tickets that are served before one more of an asker.
func (g *group) ahead(agent, asker string) int {
	return g.before(agent, func(a *group) int {
		return a.before(asker, func(k *group) int { return k.expected })
	})
}

// before returns how many are served before one more of a part, within which so many are served
// before it.
func (g *group) before(key string, within func(*group) int) int {
	own, parts := 0, g.busy
	if p := g.parts[key]; p != nil && p.expected > 0 {
		own = within(p)
	} else {
		parts++
	}
	return min(g.expected, (own+1)*parts-1)
}

// push adds a ticket to an asker.
func (g *group) push(t *Ticket) {
	g.tickets = append(g.tickets, t)
	g.count(1)
}

// remove removes a ticket from an asker.
func (g *group) remove(t *Ticket) {
	i := slices.Index(g.tickets, t)
	g.tickets = slices.Delete(g.tickets, i, i+1)
	g.count(-1)
}

// count changes the number of queued tickets, and with that the turns.
func (g *group) count(n int) {
	was := g.queued
	g.queued += n
	if g.in == nil {
		return
	}
	switch {
	case was == 0:
		g.in.turn = append(g.in.turn, g)
	case g.queued == 0:
		g.in.turn = slices.DeleteFunc(g.in.turn, func(p *group) bool { return p == g })
	}
	g.in.count(n)
}

// pop removes the next ticket. There is one.
func (g *group) pop() *Ticket {
	for g.tickets == nil {
		next := g.turn[0]
		g.turn = append(g.turn[1:], next)
		g = next
	}
	t := g.tickets[0]
	g.remove(t)
	return t
}
