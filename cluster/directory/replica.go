package directory

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"maps"
	"slices"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Digest identifies a text of capabilities: the first bytes of its SHA-256. The zero value stands
// for none.
type Digest [16]byte

// DigestOf returns the digest of a text, and the zero value for an empty one.
func DigestOf(text []byte) (d Digest) {
	if len(text) == 0 {
		return d
	}
	sum := sha256.Sum256(text)
	copy(d[:], sum[:])
	return d
}

// Entry is one agent of one node.
type Entry struct {
	Agent  performatives.AgentID // as registered
	Owner  cluster.Incarnation   // its node
	Hidden bool                  // discovery excludes it; it can be reached
	Moves  bool                  // it belongs to a session, and may come back at another node
	Placed bool                  // the cluster places it; Since is the number of its activation
	Hosts  bool                  // it is no agent: the owner hosts agents of the kind of that name
	Since  uint64                // when it was registered, by the clock of its node, in microseconds
	First  uint64                // of a placed one: the number of the first of the activations that this one continues; zero stands for Since
	Digest Digest                // of its capabilities

	Principal Digest // of a session: of the name as which its peer has authenticated; zero without one
}

// Compare orders the entries of one agent id. The order is the same on each node, and the first
// entry is the one in force. Agents of nodes come before agents of sessions. Of two agents of
// nodes, the one that began first comes first; of two activations, one of which continues the
// other, the later one. Of two agents of sessions, an authenticated one comes first. Of one
// principal, or of none, that is the one that connected last. Of two principals it is always that
// of one of them: a node that knows of the other one refuses the connection.
func (e Entry) Compare(other Entry) int {
	switch {
	case e.Moves != other.Moves:
		return before(other.Moves)
	case !e.Moves:
		return cmp.Or(cmp.Compare(e.first(), other.first()), cmp.Compare(other.Since, e.Since), e.Owner.Compare(other.Owner))
	case e.Principal != other.Principal: // zero comes last
		return bytes.Compare(other.Principal[:], e.Principal[:])
	}
	return cmp.Or(cmp.Compare(other.Since, e.Since), e.Owner.Compare(other.Owner))
}

// Continues reports whether one activation continues the other one, or both continue the same.
func (e Entry) Continues(other Entry) bool {
	return e.Placed && other.Placed && e.first() == other.first()
}

// first returns the number of the activation that this one continues, itself if none.
func (e Entry) first() uint64 { return cmp.Or(e.First, e.Since) }

// before returns the result of a comparison: negative if the first entry comes before the other.
func before(first bool) int {
	if first {
		return -1
	}
	return 1
}

// change is the latest change of one agent by its owner.
type change struct {
	Entry
	number  uint64
	removed bool
}

// part is a replica's knowledge of one node.
type part struct {
	owner    cluster.Incarnation
	complete uint64                             // all changes up to this number are known
	ahead    map[uint64]struct{}                // numbers above it that are known
	changes  map[performatives.AgentID]change   // by folded id
	removed  map[performatives.AgentID]struct{} // those of changes that are removed; their numbers are above complete
}

// maxAhead is the largest number of changes that are known above a gap. More wait for a whole
// state.
const maxAhead = 1 << 14

// maxStrangers is the largest number of nodes of which something is known before they have joined.
const maxStrangers = 64

// maxGone is the largest number of nodes that are remembered after they have gone.
const maxGone = 1024

// Replica is one node's copy of the directory. See the package for its use.
type Replica struct {
	self     cluster.Incarnation
	parts    map[string]*part                              // by the name of the node
	joined   map[string]uint64                             // the epochs of the other nodes that take part
	gone     map[string]uint64                             // the last epoch of nodes that have gone
	strange  []cluster.Incarnation                         // see Strangers
	where    map[performatives.AgentID]map[string]struct{} // the names of the nodes that have an agent, by folded id
	contents map[Digest]*content
	missing  map[Digest]struct{} // those of contents that are to be fetched
}

// content is a text of capabilities that entries refer to.
type content struct {
	text    []byte // nil: to be fetched
	refs    int
	asked   int                                // how often Missing has returned it
	waiting map[performatives.AgentID]struct{} // the agents whose entries refer to it while it is to be fetched, by folded id
}

// New returns the replica of a node.
func New(self cluster.Incarnation) *Replica {
	r := &Replica{
		self: self, parts: make(map[string]*part), joined: make(map[string]uint64), gone: make(map[string]uint64),
		where: make(map[performatives.AgentID]map[string]struct{}), contents: make(map[Digest]*content), missing: make(map[Digest]struct{}),
	}
	r.parts[self.Name] = newPart(self)
	return r
}

func newPart(owner cluster.Incarnation) *part {
	return &part{owner: owner, ahead: make(map[uint64]struct{}), changes: make(map[performatives.AgentID]change), removed: make(map[performatives.AgentID]struct{})}
}

func (r *Replica) own() *part { return r.parts[r.self.Name] }

// Put records an agent of this node with the text of its capabilities, which the replica takes
// over, and returns the delta to be broadcast: nil if nothing has changed. Owner and Digest of the
// entry are filled in.
func (r *Replica) Put(e Entry, capabilities []byte) (delta []byte) {
	e.Owner, e.Digest = r.self, DigestOf(capabilities)
	p := r.own()
	before, known := p.changes[e.Agent.Fold()]
	if known && before.Entry == e {
		return nil
	}
	c := change{Entry: e, number: p.complete + 1}
	r.set(p, c)
	p.complete++
	if t := r.contents[e.Digest]; t != nil && t.text == nil {
		t.text = capabilities
		delete(t.waiting, e.Agent.Fold())
		if len(t.waiting) == 0 { // otherwise Provide returns the other agents that wait for the text
			delete(r.missing, e.Digest)
		}
	}
	return appendDelta(nil, p.owner, c)
}

// Remove records that an agent has left this node, and returns the delta to be broadcast: nil if it
// was not here.
func (r *Replica) Remove(agent performatives.AgentID) (delta []byte) {
	p := r.own()
	before, known := p.changes[agent.Fold()]
	if !known {
		return nil
	}
	p.complete++
	r.drop(p, agent.Fold())
	return appendDelta(nil, p.owner, change{Entry: Entry{Agent: before.Agent, Owner: r.self}, number: p.complete, removed: true})
}

// set stores a change and keeps the indexes in step.
func (r *Replica) set(p *part, c change) {
	key := c.Agent.Fold()
	before, known := p.changes[key]
	if !c.removed {
		r.ref(c) // before the other is released: it may be the same text
	}
	if known && !before.removed {
		r.unref(before, c.removed)
	}
	p.changes[key] = c
	if c.removed {
		p.removed[key] = struct{}{}
		return
	}
	delete(p.removed, key)
}

// ref puts a change into the indexes.
func (r *Replica) ref(c change) {
	key := c.Agent.Fold()
	if r.where[key] == nil {
		r.where[key] = make(map[string]struct{}, 1)
	}
	r.where[key][c.Owner.Name] = struct{}{}
	if c.Digest == (Digest{}) {
		return
	}
	t := r.contents[c.Digest]
	if t == nil {
		t = &content{waiting: make(map[performatives.AgentID]struct{}, 1)}
		r.contents[c.Digest], r.missing[c.Digest] = t, struct{}{}
	}
	t.refs++
	if t.text == nil {
		t.waiting[key] = struct{}{}
	}
}

// unref takes a change that is replaced or dropped out of the indexes. gone means that the agent
// has no other entry at the node.
func (r *Replica) unref(c change, gone bool) {
	key := c.Agent.Fold()
	if gone {
		delete(r.where[key], c.Owner.Name)
		if len(r.where[key]) == 0 {
			delete(r.where, key)
		}
	}
	if t := r.contents[c.Digest]; t != nil {
		if t.refs--; t.refs == 0 {
			delete(r.contents, c.Digest)
			delete(r.missing, c.Digest)
		}
	}
}

// drop deletes the change of an agent, or its tombstone, from a part and from the indexes.
func (r *Replica) drop(p *part, key performatives.AgentID) {
	if c := p.changes[key]; !c.removed {
		r.unref(c, true)
	}
	delete(p.changes, key)
	delete(p.removed, key)
}

// prune drops the tombstones that no late delta can need: those up to complete.
func (p *part) prune() {
	for key := range p.removed {
		if p.changes[key].number <= p.complete {
			delete(p.changes, key)
			delete(p.removed, key)
		}
	}
}

// advance notes that the change of a number is known.
func (p *part) advance(number uint64) {
	if number <= p.complete {
		return
	}
	if number > p.complete+1 {
		if len(p.ahead) < maxAhead {
			p.ahead[number] = struct{}{}
		}
		return
	}
	p.complete = number
	p.catchUp()
}

// catchUp moves complete over the numbers that follow it.
func (p *part) catchUp() {
	for {
		if _, known := p.ahead[p.complete+1]; !known {
			break
		}
		delete(p.ahead, p.complete+1)
		p.complete++
	}
	p.prune()
}

// partOf returns the part to which news about an owner belongs. It returns nil if the owner is this
// node, or if the news is out of date. If the replica has a part of an earlier incarnation, partOf
// replaces it, and adds its agents to touched.
func (r *Replica) partOf(owner cluster.Incarnation, touched map[performatives.AgentID]struct{}) *part {
	p := r.parts[owner.Name]
	switch {
	case owner.Name == r.self.Name, owner.Epoch <= r.gone[owner.Name], p != nil && p.owner.Epoch > owner.Epoch:
		return nil
	case p != nil && p.owner == owner:
		return p
	case p != nil:
		for key, c := range p.changes {
			if !c.removed {
				touched[key] = struct{}{}
			}
			r.drop(p, key)
		}
	}
	if r.joined[owner.Name] != owner.Epoch {
		r.makeRoom(touched)
		r.strange = append(r.strange, owner)
	}
	p = newPart(owner)
	r.parts[owner.Name] = p
	return p
}

// member reports whether a part is of a node that takes part, or of this one.
func (r *Replica) member(p *part) bool {
	return p.owner == r.self || r.joined[p.owner.Name] == p.owner.Epoch
}

// makeRoom makes room for the part of a node that has not joined yet. If there are maxStrangers
// such parts, it drops one of them, and adds the agents of that part to touched.
func (r *Replica) makeRoom(touched map[performatives.AgentID]struct{}) {
	var names []string
	for name, p := range r.parts {
		if !r.member(p) {
			names = append(names, name)
		}
	}
	if len(names) < maxStrangers {
		return
	}
	name := slices.Min(names) // any
	for _, key := range r.dropPart(name) {
		touched[key] = struct{}{}
	}
}

// Strangers returns the nodes of which the replica has heard, since the last call, before they have
// joined. One that never joins may have died before this node could learn of it: see
// [Replica.Forget].
func (r *Replica) Strangers() (all []cluster.Incarnation) {
	all, r.strange = r.strange, nil
	return all
}

// Forget is [Replica.Gone] for a node that has not joined, and does nothing for one that has.
func (r *Replica) Forget(node cluster.Incarnation) []performatives.AgentID {
	if p := r.parts[node.Name]; p == nil || p.owner != node || r.member(p) {
		return nil
	}
	return r.Gone(node)
}

// dropPart drops the part of a node, and returns the folded ids of its agents, sorted.
func (r *Replica) dropPart(name string) []performatives.AgentID {
	p := r.parts[name]
	agents := p.agents()
	for key := range p.changes {
		r.drop(p, key)
	}
	delete(r.parts, name)
	return agents
}

// apply takes in one change of a part.
func (r *Replica) apply(p *part, c change, touched map[performatives.AgentID]struct{}) {
	key := c.Agent.Fold()
	before, known := p.changes[key]
	switch {
	case known && before.number >= c.number:
	case !known && c.number <= p.complete: // it was removed since
	default:
		if !c.removed || known && !before.removed {
			touched[key] = struct{}{}
		}
		r.set(p, c)
	}
	p.advance(c.number)
}

// Receive merges a delta or a state of another node. It returns the folded ids of the agents whose
// entries have changed, sorted. The error names the malformed part; the replica has not changed
// then.
func (r *Replica) Receive(delta []byte) ([]performatives.AgentID, error) {
	if len(delta) > 0 && delta[0] == formState {
		return r.Merge(delta)
	}
	owner, c, err := readDelta(delta)
	if err != nil {
		return nil, err
	}
	touched := make(map[performatives.AgentID]struct{})
	if p := r.partOf(owner, touched); p != nil {
		r.apply(p, c, touched)
	}
	return slices.Sorted(maps.Keys(touched)), nil
}

// State returns the parts of the nodes that have [Replica.Joined], and the part of this node. It
// leaves out the parts of other nodes, because two replicas would otherwise tell each other for
// ever of a node that has long gone.
func (r *Replica) State() []byte {
	out := []byte{formState}
	for _, name := range slices.Sorted(maps.Keys(r.parts)) {
		if p := r.parts[name]; r.member(p) {
			out = appendPart(out, p)
		}
	}
	return out
}

// OwnState returns the state of this node's part alone, for after a burst of changes.
func (r *Replica) OwnState() []byte { return appendPart([]byte{formState}, r.own()) }

// Merge takes in the [Replica.State] of another node, like Receive.
func (r *Replica) Merge(state []byte) ([]performatives.AgentID, error) {
	parts, err := readState(state)
	if err != nil {
		return nil, err
	}
	touched := make(map[performatives.AgentID]struct{})
	for _, of := range parts {
		if of.owner == r.self {
			r.catchUpWithSelf(of)
			continue
		}
		if p := r.partOf(of.owner, touched); p != nil {
			r.mergePart(p, of, touched)
		}
	}
	return slices.Sorted(maps.Keys(touched)), nil
}

// mergePart merges another replica's part of a node.
func (r *Replica) mergePart(p *part, of stateOfPart, touched map[performatives.AgentID]struct{}) {
	known := p.complete
	there := make(map[performatives.AgentID]struct{}, len(of.changes))
	for _, c := range of.changes {
		r.apply(p, c, touched)
		there[c.Agent.Fold()] = struct{}{}
	}
	if of.complete <= known {
		return
	}
	for key, c := range p.changes {
		if _, listed := there[key]; listed || c.number > of.complete {
			continue
		}
		if !c.removed {
			touched[key] = struct{}{}
		}
		r.drop(p, key)
	}
	p.complete = max(p.complete, of.complete)
	maps.DeleteFunc(p.ahead, func(number uint64, _ struct{}) bool { return number <= p.complete })
	p.catchUp()
}

// catchUpWithSelf handles a state of this very incarnation that knows changes which it has not
// made: numbering goes on behind them.
func (r *Replica) catchUpWithSelf(of stateOfPart) {
	p := r.own()
	if of.complete <= p.complete {
		return
	}
	p.complete = of.complete
	for _, key := range slices.Sorted(maps.Keys(p.changes)) {
		c := p.changes[key]
		p.complete++
		c.number = p.complete
		p.changes[key] = c
	}
}

// Rename gives this node another incarnation, whose epoch must be greater. The others learn of it
// by the next State.
func (r *Replica) Rename(self cluster.Incarnation) {
	p := r.own()
	delete(r.parts, r.self.Name)
	r.self, p.owner = self, self
	r.parts[self.Name] = p
	for key, c := range p.changes {
		c.Owner = self
		p.changes[key] = c
	}
}

// Joined notes that a node takes part: after a partition, the incarnation of before may come back.
func (r *Replica) Joined(node cluster.Incarnation) {
	if node.Name != r.self.Name {
		r.joined[node.Name] = node.Epoch
	}
	if r.gone[node.Name] >= node.Epoch {
		delete(r.gone, node.Name)
	}
}

// Gone drops the part of a node that has died or left, and returns the folded ids of its agents,
// sorted. Late news about that incarnation is ignored until [Replica.Joined] is called for it.
func (r *Replica) Gone(node cluster.Incarnation) []performatives.AgentID {
	if node.Name == r.self.Name {
		return nil
	}
	if _, known := r.gone[node.Name]; !known && len(r.gone) >= maxGone {
		delete(r.gone, slices.Min(slices.Collect(maps.Keys(r.gone)))) // any
	}
	r.gone[node.Name] = max(r.gone[node.Name], node.Epoch)
	if r.joined[node.Name] <= node.Epoch {
		delete(r.joined, node.Name)
	}
	p := r.parts[node.Name]
	if p == nil || p.owner.Epoch > node.Epoch {
		return nil
	}
	return r.dropPart(node.Name)
}

func (p *part) agents() (ids []performatives.AgentID) {
	for key, c := range p.changes {
		if !c.removed {
			ids = append(ids, key)
		}
	}
	slices.Sort(ids)
	return ids
}

// RunsAgain reports whether the replica has the part of a later incarnation of a node.
func (r *Replica) RunsAgain(node cluster.Incarnation) bool {
	p := r.parts[node.Name]
	return p != nil && p.owner.Epoch > node.Epoch
}

// Of returns the folded ids of the agents of a node, sorted.
func (r *Replica) Of(node cluster.Incarnation) []performatives.AgentID {
	if p := r.parts[node.Name]; p != nil && p.owner == node {
		return p.agents()
	}
	return nil
}

// Lookup returns the entries of an agent id, compared case-insensitively. More than one node may
// have it; the first entry is in force, on each node the same.
func (r *Replica) Lookup(agent performatives.AgentID) []Entry {
	key := agent.Fold()
	var all []Entry
	for name := range r.where[key] {
		all = append(all, r.parts[name].changes[key].Entry)
	}
	slices.SortFunc(all, Entry.Compare)
	return all
}

// Len returns the number of entries of all nodes.
func (r *Replica) Len() (n int) {
	for _, nodes := range r.where {
		n += len(nodes)
	}
	return n
}

// Want is a text of capabilities to be fetched, and the node to ask for it.
type Want struct {
	Digest Digest
	From   cluster.Incarnation
}

// Missing returns the texts that entries of other nodes refer to and that are not here, sorted by
// digest: those that it has not returned before, or, again, all. Each is to be fetched from a node
// that is linked and whose agents have it, each time from the next one. A node that cannot give it
// may have changed it since.
func (r *Replica) Missing(again bool, linked func(cluster.Incarnation) bool) (all []Want) {
	for d := range r.missing {
		t, from := r.contents[d], r.ownersOf(d, linked)
		if len(from) > 0 && (again || t.asked == 0) {
			all = append(all, Want{d, from[t.asked%len(from)]})
			t.asked++
		}
	}
	slices.SortFunc(all, func(a, b Want) int { return bytes.Compare(a.Digest[:], b.Digest[:]) })
	return all
}

// ownersOf returns the other nodes that are linked and have an agent with the text, sorted.
func (r *Replica) ownersOf(d Digest, linked func(cluster.Incarnation) bool) (all []cluster.Incarnation) {
	for key := range r.contents[d].waiting {
		for name := range r.where[key] {
			if p := r.parts[name]; p.owner != r.self && linked(p.owner) && p.changes[key].Digest == d && !slices.Contains(all, p.owner) {
				all = append(all, p.owner)
			}
		}
	}
	slices.SortFunc(all, cluster.Incarnation.Compare)
	return all
}

// Content returns the text of a digest, which the caller must not change.
func (r *Replica) Content(d Digest) (text []byte, ok bool) {
	t := r.contents[d]
	if t == nil || t.text == nil {
		return nil, false
	}
	return t.text, true
}

// Provide takes a text that was fetched, and returns the folded ids of the agents that it was
// fetched for, sorted: none if no entry refers to it any more.
func (r *Replica) Provide(text []byte) []performatives.AgentID {
	d := DigestOf(text)
	t := r.contents[d]
	if t == nil || len(t.waiting) == 0 {
		return nil
	}
	waiting := slices.Sorted(maps.Keys(t.waiting))
	t.text, t.waiting = text, nil
	delete(r.missing, d)
	return waiting
}
