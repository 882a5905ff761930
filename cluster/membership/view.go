package membership

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/performatives"
)

// view is one node's knowledge of all names: the latest incarnation of each, whether it lives, and
// which events are due. It holds the rules about names and epochs, which [Gossip] and [Model]
// share. It has no clock, and calls nothing but wake.
type view struct {
	mu      sync.Mutex
	token   token
	self    announcement
	records map[string]*record // of the others
	ended   int                // records that are not alive
	order   uint64             // counts endings

	// due are the names whose record differs from what the receiver of events knows, in the order
	// of the first difference.
	due    []string
	raised bool
	wake   func() // called with mu held when something is due; must not block

	conflict error // of the last attempt to join
}

// record is the latest incarnation of a name that this node knows.
type record struct {
	announcement
	alive bool
	final bool      // it left, or another incarnation took its place: it does not come back
	unmet bool      // this node has begun anew, and has not met it since
	order uint64    // when it ended
	at    time.Time // when it ended

	// generation counts how often the name joined; a receiver that knows an earlier one is told of
	// its end first.
	generation uint64
	told       *cluster.Member // what the receiver knows; nil: nothing
	toldGen    uint64
	toldEnd    Kind // how what it knows ended, 0: it did not
	isDue      bool

	// refused is the address of another node that wants the name; it is dialled when this one ends.
	refused string
}

func newView(self announcement, wake func()) *view {
	return &view{token: self.token, self: self, records: map[string]*record{}, wake: wake}
}

// sameName reports whether two nodes have one name. Each is also the id of an agent, in which case
// does not count.
func sameName(a, b cluster.Member) bool {
	return performatives.AgentID(a.Name).Is(performatives.AgentID(b.Name))
}

// admit decides whether an incarnation may be a member. memberlist asks for each alive message,
// also about known members.
func (v *view) admit(a announcement) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if a.token == v.token {
		return nil
	}
	if sameName(a.member, v.self.member) {
		if a.member.Gossip == v.self.member.Gossip {
			return fmt.Errorf("%s is an earlier run of this node", a.member.Incarnation)
		}
		return fmt.Errorf("%w: this node's %q also at %s", ErrNameTaken, a.member.Name, a.member.Gossip)
	}
	r := v.records[a.member.Name]
	switch {
	case r == nil:
		return nil
	case r.token == a.token:
		if r.final || a.member.Epoch < r.member.Epoch {
			return fmt.Errorf("%s has ended", a.member.Incarnation)
		}
		return nil
	case r.alive && r.member.Gossip != a.member.Gossip:
		if a.member.Epoch > r.member.Epoch {
			r.refused = a.member.Gossip
		}
		return fmt.Errorf("%w: %q is at %s, refused at %s", ErrNameTaken, a.member.Name, r.member.Gossip, a.member.Gossip)
	case a.member.Epoch <= r.member.Epoch:
		return fmt.Errorf("%s is not later than %s", a.member.Incarnation, r.member.Incarnation)
	}
	return nil
}

// joined records that an admitted incarnation lives.
func (v *view) joined(a announcement, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if a.token == v.token {
		return
	}
	r := v.records[a.member.Name]
	if r == nil {
		r = &record{}
		v.records[a.member.Name] = r
		v.ended++
	}
	if r.alive && r.token == a.token {
		v.replaceLocked(r, a, now)
		return
	}
	if r.alive { // the process at this address was replaced
		v.endLocked(r, Failed, now)
	}
	v.beginLocked(r, a)
}

// updated records a member's new description of itself.
func (v *view) updated(a announcement, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if r := v.records[a.member.Name]; r != nil && r.alive && r.token == a.token {
		v.replaceLocked(r, a, now)
	}
}

func (v *view) replaceLocked(r *record, a announcement, now time.Time) {
	if a.member.Epoch != r.member.Epoch { // it raised its epoch
		v.endLocked(r, Failed, now)
		v.beginLocked(r, a)
		return
	}
	changed := !a.member.Equal(r.member)
	r.announcement = a
	if changed {
		v.dueLocked(r)
	}
}

func (v *view) beginLocked(r *record, a announcement) {
	r.announcement, r.alive, r.final, r.unmet = a, true, false, false
	r.generation++
	r.refused = ""
	v.ended--
	v.dueLocked(r)
}

// gone records the end of a member: left when it had said so, or left is true. It returns the
// address of another node that wanted its name.
func (v *view) gone(name string, t token, left bool, now time.Time) (refused string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.records[name]
	if r == nil || !r.alive || r.token != t {
		return ""
	}
	kind := Failed
	if left || r.goodbye {
		kind = Left
	}
	v.endLocked(r, kind, now)
	return r.refused
}

func (v *view) endLocked(r *record, kind Kind, now time.Time) {
	r.alive, r.final, r.at = false, kind == Left, now
	v.order++
	r.order = v.order
	if r.told != nil && r.toldGen == r.generation {
		r.toldEnd = kind
	}
	v.ended++
	v.dueLocked(r)
	for v.ended > maxEnded && v.forgetLocked() {
	}
}

// forgetLocked drops a record that is not alive and that the receiver of events does not know: of
// several, the one that ended first. It reports whether there was one.
func (v *view) forgetLocked() bool {
	var oldest *record
	for _, r := range v.records {
		if !r.alive && r.told == nil && (oldest == nil || r.order < oldest.order) {
			oldest = r
		}
	}
	if oldest == nil {
		return false
	}
	if oldest.isDue {
		v.due = slices.DeleteFunc(v.due, func(name string) bool { return name == oldest.member.Name })
	}
	delete(v.records, oldest.member.Name)
	v.ended--
	return true
}

func (v *view) dueLocked(r *record) {
	if !r.isDue {
		r.isDue = true
		v.due = append(v.due, r.member.Name)
	}
	v.wake()
}

// next returns the next event that is due.
func (v *view) next() (Event, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.raised {
		v.raised = false
		return Event{Raised, v.self.member}, true
	}
	for len(v.due) > 0 {
		r := v.records[v.due[0]]
		if r.told != nil && r.toldEnd != 0 {
			e := Event{r.toldEnd, *r.told}
			r.told, r.toldEnd = nil, 0
			if !r.alive {
				v.doneLocked(r)
			}
			return e, true
		}
		v.doneLocked(r)
		if !r.alive {
			continue // joined and ended unseen
		}
		member, kind := r.member, Updated
		if r.told == nil {
			kind = Joined
		} else if member.Equal(*r.told) {
			continue
		}
		r.told, r.toldGen = &member, r.generation
		return Event{kind, member}, true
	}
	return Event{}, false
}

func (v *view) doneLocked(r *record) {
	r.isDue = false
	v.due[0] = ""
	v.due = v.due[1:]
}

// members returns those alive and this node, by name.
func (v *view) members() []cluster.Member {
	v.mu.Lock()
	defer v.mu.Unlock()
	all := make([]cluster.Member, 0, len(v.records)-v.ended+1)
	all = append(all, v.self.member)
	for _, r := range v.records {
		if r.alive {
			all = append(all, r.member)
		}
	}
	slices.SortFunc(all, func(a, b cluster.Member) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// size returns the number of members alive, this node included.
func (v *view) size() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.records) - v.ended + 1
}

// find returns the announcement of a member alive.
func (v *view) find(i cluster.Incarnation) (announcement, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.records[i.Name]
	if r == nil || !r.alive || r.member.Incarnation != i {
		return announcement{}, false
	}
	return r.announcement, true
}

// lost returns the addresses of members that failed since then, by name.
func (v *view) lost(since time.Time) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var names []string
	for name, r := range v.records {
		if !r.alive && !r.final && r.member.Gossip != "" && r.at.After(since) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = v.records[name].member.Gossip
	}
	return names
}

// addresses returns those of the members alive, this node included.
func (v *view) addresses() map[string]bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	all := map[string]bool{v.self.member.Gossip: true}
	for _, r := range v.records {
		if r.alive {
			all[r.member.Gossip] = true
		}
	}
	return all
}

// history returns the incarnations that ended, by name.
func (v *view) history() []ended {
	v.mu.Lock()
	defer v.mu.Unlock()
	all := make([]ended, 0, v.ended)
	for _, r := range v.records {
		if !r.alive && !r.unmet {
			all = append(all, ended{r.member.Incarnation, r.token})
		}
	}
	slices.SortFunc(all, func(a, b ended) int { return a.Compare(b.Incarnation) })
	return all[:min(len(all), maxEnded)]
}

// learn takes the history of another member, and reports whether this node had to raise its epoch,
// and whether that member believes this run of it to have ended.
func (v *view) learn(history []ended) (raised, dead bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, e := range history {
		if e.token == v.token {
			dead = true
			continue
		}
		if e.Name == v.self.member.Name {
			raised = v.raiseLocked(e.Epoch) || raised
			continue
		}
		r := v.records[e.Name]
		switch {
		case r == nil:
			v.endedUnseenLocked(e, false)
		case !r.alive && !r.isDue && r.member.Epoch < e.Epoch:
			r.token, r.final = e.token, false
			r.member = cluster.Member{Incarnation: e.Incarnation}
		}
	}
	return raised, dead
}

// anew makes this node another run of its name, which has not met any member yet.
func (v *view) anew(t token, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.token, v.self.token = t, t
	for _, r := range v.records {
		if r.alive {
			r.unmet = true
			v.endLocked(r, Failed, now)
		}
	}
	v.raiseLocked(v.self.member.Epoch)
}

// raiseLocked makes the own epoch greater than that of an earlier run.
func (v *view) raiseLocked(epoch uint64) bool {
	if epoch < v.self.member.Epoch || epoch == math.MaxUint64 {
		return false
	}
	v.self.member.Epoch = epoch + 1
	v.raised = true
	v.wake()
	return true
}

// known is another member's record of a name.
type known struct {
	announcement
	alive bool
}

// meet looks at the members that the other side of a join knows. It fails when another node alive
// has the own name, and raises the own epoch above that of an earlier run. The other side may still
// hold an earlier run of a member for alive, until its failure is detected, besides the one that
// replaced it at the same address: the earlier one is then recorded as ended, since memberlist
// admits the two in random order.
func (v *view) meet(all []known) (raised bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, k := range all {
		if k.token == v.token || !sameName(k.member, v.self.member) {
			continue
		}
		if k.alive && k.member.Gossip != v.self.member.Gossip {
			v.conflict = fmt.Errorf("%w: %q is at %s", ErrNameTaken, k.member.Name, k.member.Gossip)
			return false, v.conflict
		}
		raised = v.raiseLocked(k.member.Epoch) || raised
	}
	type address struct{ name, gossip string }
	latest := map[address]uint64{} // the greatest epoch alive
	for _, k := range all {
		if a := (address{k.member.Name, k.member.Gossip}); k.alive && a.name != v.self.member.Name {
			latest[a] = max(latest[a], k.member.Epoch)
		}
	}
	for _, k := range all {
		if k.member.Epoch < latest[address{k.member.Name, k.member.Gossip}] && v.records[k.member.Name] == nil {
			v.endedUnseenLocked(ended{k.member.Incarnation, k.token}, true)
		}
	}
	return raised, nil
}

// endedUnseenLocked records an incarnation of an unknown name that ended, as far as there is room.
func (v *view) endedUnseenLocked(e ended, final bool) {
	if v.ended >= maxEnded {
		return
	}
	v.order++
	v.records[e.Name] = &record{
		announcement: announcement{token: e.token, member: cluster.Member{Incarnation: e.Incarnation}}, final: final, order: v.order,
	}
	v.ended++
}

// takeConflict returns the name conflict that meet has found since the last call.
func (v *view) takeConflict() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	err := v.conflict
	v.conflict = nil
	return err
}

// change changes this node's description of itself, if its metadata stays valid, and returns the
// metadata.
func (v *view) change(f func(*announcement)) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	next := v.self
	f(&next)
	b, err := next.meta().encode()
	if err == nil {
		v.self = next
	}
	return b, err
}

// current returns this node's description of itself.
func (v *view) current() announcement {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.self
}

// meta returns the part of an announcement that is metadata.
func (a announcement) meta() meta {
	return meta{
		epoch: a.member.Epoch, links: a.member.Links, labels: a.member.Labels,
		leaving: a.member.Leaving, goodbye: a.goodbye,
	}
}
