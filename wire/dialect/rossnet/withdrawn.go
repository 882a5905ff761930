package rossnet

import (
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/recent"
)

// withdrawn has the CANCELs of the peer that came before their requests, and the latest requests that have ended: a CANCEL of one of
// those is not for a later request of its flow. The lock of the codec guards it.
type withdrawn struct {
	subtasks     recent.Map[flow, performatives.MessageID] // the CANCELs, by subtask_id; the id of the request that came since; empty = none
	correlations recent.Map[flow, performatives.MessageID] // those without a subtask_id
	ended        recent.Map[flow, struct{}]                // by subtask_id and by correlation_id; without times: none expires
}

func (c *codec) now() time.Time { return c.opts.Stamper.Stamp().Time }

// endedCall notes the end of a request of the peer.
func (w *withdrawn) endedCall(x *call) {
	for _, name := range [...]string{x.Subtask, x.Correlation} {
		if name != "" {
			w.ended.Put(flow{x.Agent, name}, struct{}{}, time.Time{})
		}
	}
}

// withdraw notes a CANCEL of the peer whose request is not known. It goes to its receiver nevertheless, which may have the request by
// another connection.
func (d *decoder) withdraw() {
	w, from := &d.codec.withdrawn, d.out.Sender.Fold()
	early, name := &w.subtasks, d.subtask
	if name == "" {
		early, name = &w.correlations, d.correlation
	}
	if _, over := w.ended.Get(flow{from, name}, time.Time{}); name != "" && !over {
		early.Put(flow{from, name}, "", d.codec.now())
	}
}

// overtaken refuses a request of the peer whose CANCEL came before it, and each copy of that request.
func (d *decoder) overtaken() {
	w, from := &d.codec.withdrawn, d.out.Sender.Fold()
	if w.subtasks.Len()+w.correlations.Len() == 0 {
		return
	}
	now := d.codec.now()
	if d.matches(&w.subtasks, flow{from, d.subtask}, now) || d.matches(&w.correlations, flow{from, d.correlation}, now) {
		d.Refuse(recent.Canceled(d.out.ID))
	}
}

// matches reports whether the CANCEL at that key is for the message: it is for the first request that comes after it.
func (d *decoder) matches(early *recent.Map[flow, performatives.MessageID], at flow, now time.Time) bool {
	id, over := early.Get(at, now)
	if !over || id != "" && id != d.out.ID {
		return false
	}
	early.Put(at, d.out.ID, now)
	return true
}
