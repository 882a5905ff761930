package machine

// maxProgress is the largest number of [Progress] values that a [Machine] shares among its
// conversations.
const maxProgress = 512

// Progress is how far a conversation is by the messages of both sides, for an observer that passes
// the messages on and takes no part. Conversations with the same messages share their Progress, so
// that a usual message costs one lookup. Its judgement is that of [Monitor.ObserveForeign]. The
// Progress values that have one beginning are not safe for concurrent use.
type Progress struct {
	of      *progressTree // nil for one that is not shared
	monitor *Monitor
	ended   bool
	next    map[Utterance]*Progress
}

// progressTree holds the shared Progress values of one machine.
type progressTree struct{ n int }

// NewProgress returns the beginning of all conversations of m that share their Progress.
func NewProgress(m *Machine) *Progress {
	return &Progress{of: &progressTree{n: 1}, monitor: NewMonitor(m)}
}

// After returns the progress after u. It is nil when the table does not allow u: then nothing is
// known any more.
func (p *Progress) After(u Utterance) *Progress {
	if p.of == nil {
		return p.observe(u, nil)
	}
	if next, ok := p.next[u]; ok {
		return next
	}
	if p.of.n >= maxProgress {
		return p.observe(u, nil)
	}
	next := p.observe(u, p.of)
	if p.next == nil {
		p.next = make(map[Utterance]*Progress)
	}
	p.next[u] = next
	p.of.n++
	return next
}

func (p *Progress) observe(u Utterance, of *progressTree) *Progress {
	if n, _ := p.monitor.alike(u); n >= MaxAlike && !p.ended {
		return p // one of many like messages, such as the events of a subscription
	}
	m := p.monitor.Clone()
	if m.ObserveForeign(u) != nil {
		return nil
	}
	return &Progress{of: of, monitor: m, ended: !m.full && (m.over(Initiator) || m.over(Responder))}
}

// Ended reports whether one of the sides has reached the end of the table, whatever became of the
// messages on their way: it sends nothing more, save the repetition of its last message.
func (p *Progress) Ended() bool { return p.ended }

// over reports whether a role can only be in a terminal state.
func (o *Monitor) over(r Role) bool {
	for _, s := range o.States(r) {
		if !o.machine.Terminal(s) {
			return false
		}
	}
	return true
}
