package machine

import "github.com/ribosome-agents/ribosome/performatives"

// maxProgress is the largest number of [Progress] values that a beginning shares among its
// conversations.
const maxProgress = 512

// Progress is a [Monitor] after the messages of a conversation so far, for an observer of many
// conversations: those with the same messages share their Progress, so that a usual message costs
// one lookup. It never changes; a message leads to another one. Beyond the first 512, a Progress is
// not shared. The Progress values that have one beginning are together not safe for concurrent use.
type Progress struct {
	shared  *int     // how many have this beginning and are shared; nil for one that is not
	monitor *Monitor // never changed
	err     error    // of the last message
	next    map[message]*Progress
	judged  bool // ended is known
	ended   bool
}

// message is one more message of a conversation.
type message struct {
	Utterance
	how observation
}

// observation is the method by which a monitor observes a message.
type observation uint8

const (
	observed   observation = iota // Monitor.Observe
	foreign                       // Monitor.ObserveForeign
	interposed                    // Monitor.Interject
)

// NewProgress returns the beginning of all conversations of m that share their Progress.
func NewProgress(m *Machine) *Progress {
	shared := 1
	return &Progress{shared: &shared, monitor: NewMonitor(m)}
}

// Observe returns the progress after u, and the error of [Monitor.Observe]. Conversations may share
// the error.
func (p *Progress) Observe(u Utterance) (*Progress, error) {
	next := p.after(message{u, observed})
	return next, next.err
}

// Interject returns the progress after [Monitor.Interject].
func (p *Progress) Interject(from Role, act performatives.Performative) *Progress {
	return p.after(message{Utterance{From: from, Act: act}, interposed})
}

// After returns the progress after u, for an observer that passes the messages on and takes no
// part: its judgement is that of [Monitor.ObserveForeign]. It is nil when the table does not allow
// u: then nothing is known any more.
func (p *Progress) After(u Utterance) *Progress {
	if n, _ := p.monitor.alike(u); n >= MaxAlike && !p.Ended() {
		return p // one of many like messages, such as the events of a subscription
	}
	next := p.after(message{u, foreign})
	if next.err != nil {
		return nil
	}
	return next
}

func (p *Progress) after(m message) *Progress {
	if next, known := p.next[m]; known {
		return next
	}
	next := &Progress{monitor: p.monitor.Clone()}
	next.err = next.monitor.take(m)
	if p.shared == nil || *p.shared == maxProgress {
		return next
	}
	if p.next == nil {
		p.next = make(map[message]*Progress)
	}
	p.next[m], next.shared = next, p.shared
	*p.shared++
	return next
}

func (o *Monitor) take(m message) error {
	switch m.how {
	case observed:
		return o.Observe(m.Utterance)
	case foreign:
		return o.ObserveForeign(m.Utterance)
	case interposed:
		o.Interject(m.From, m.Act)
	}
	return nil
}

// States is [Monitor.States].
func (p *Progress) States(r Role) []State { return p.monitor.States(r) }

// Ended reports whether one of the sides has reached the end of the table, whatever became of the
// messages on their way: it sends nothing more, save the repetition of its last message.
func (p *Progress) Ended() bool {
	if !p.judged {
		p.judged, p.ended = true, !p.monitor.full && (p.monitor.over(Initiator) || p.monitor.over(Responder))
	}
	return p.ended
}

// over reports whether a role can only be in a terminal state.
func (o *Monitor) over(r Role) bool {
	for _, s := range o.States(r) {
		if !o.machine.Terminal(s) {
			return false
		}
	}
	return true
}
