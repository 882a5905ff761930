package machine

import "github.com/ribosome-agents/ribosome/performatives"

// index finds the transition of a symbol in a state by its number. The numbers are
// those of Machine.Transitions, from 0.
type index struct {
	states map[State]int
	acts   []int32       // by place: 1 + the number, 0 for none
	named  map[key]int32 // the number of any other transition
	rows   []int32       // the row of each transition
	plain  int           // the number of transitions before those of wildcards
}

// key identifies a transition.
type key struct {
	role  Role
	state State
	on    Symbol
}

// actCount is the number of values that index.acts has for each role, state and kind.
var actCount = func() int {
	n := 1
	for range performatives.Performatives() {
		n++
	}
	return n
}()

func newIndex(t Table) index {
	x := index{states: map[State]int{Idle: 0}, named: map[key]int32{}}
	for _, states := range [...][]State{t.Live, t.Terminal} {
		for _, s := range states {
			if _, twice := x.states[s]; !twice {
				x.states[s] = len(x.states)
			}
		}
	}
	x.acts = make([]int32, 2*len(x.states)*2*actCount)
	return x
}

// offset returns the index in acts of the reception of an act without a tag, whether its
// id is new or not. ok is false for all other symbols, states and roles.
func (x *index) offset(k key) (i int, ok bool) {
	if k.on.Name != "" || k.on.Kind != KindReceive && k.on.Kind != KindDuplicate || !k.on.Act.Valid() || !k.role.Valid() {
		return 0, false
	}
	state, ok := x.states[k.state]
	if !ok {
		return 0, false
	}
	return ((int(k.role)*len(x.states)+state)*2+int(k.on.Kind-KindReceive))*actCount + int(k.on.Act), true
}

// find returns the number of a transition.
func (x *index) find(k key) (number int32, ok bool) {
	if i, ok := x.offset(k); ok {
		return x.acts[i] - 1, x.acts[i] != 0
	}
	number, ok = x.named[k]
	return number, ok
}

// add gives the next number to a transition that the index does not have.
func (x *index) add(k key, row int) {
	number := int32(len(x.rows))
	x.rows = append(x.rows, int32(row))
	if i, ok := x.offset(k); ok {
		x.acts[i] = number + 1
		return
	}
	x.named[k] = number
}

// keys returns the key of each transition by its number.
func (x *index) keys() []key {
	keys := make([]key, len(x.rows))
	for k, number := range x.named {
		keys[number] = k
	}
	for state := range x.states {
		for _, role := range Roles() {
			for _, kind := range [...]Kind{KindReceive, KindDuplicate} {
				for act := range performatives.Performatives() {
					k := key{role, state, Symbol{Kind: kind, Act: act}}
					if number, ok := x.find(k); ok {
						keys[number] = k
					}
				}
			}
		}
	}
	return keys
}
