package rossnet

import (
	"time"

	"github.com/ribosome-agents/ribosome/wire/dialect/internal/recent"
)

// withdrawn has the CANCELs of the peer that came before their requests, and the latest requests
// that have ended: a CANCEL of one of those is not for a later request of its flow. The lock of the
// codec guards it.
type withdrawn struct {
	subtasks     recent.Early[flow]         // the CANCELs, by subtask_id
	correlations recent.Early[flow]         // those without a subtask_id
	ended        recent.Map[flow, struct{}] // by subtask_id and by correlation_id; without times: none expires
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

// withdraw notes a CANCEL of the peer whose request is not known. It goes to its receiver
// nevertheless, which may have the request by another connection.
func (d *decoder) withdraw() {
	w, from := &d.codec.withdrawn, d.out.Sender.Fold()
	early, name := &w.subtasks, d.subtask
	if name == "" {
		early, name = &w.correlations, d.correlation
	}
	if _, over := w.ended.Get(flow{from, name}, time.Time{}); name != "" && !over {
		early.Note(flow{from, name}, d.codec.now())
	}
}

// overtaken refuses a request of the peer whose CANCEL came before it, and each copy of that
// request.
func (d *decoder) overtaken() {
	w, from := &d.codec.withdrawn, d.out.Sender.Fold()
	if w.subtasks.Len()+w.correlations.Len() == 0 {
		return
	}
	now := d.codec.now()
	if w.subtasks.Overtook(flow{from, d.subtask}, d.out.ID, now) || w.correlations.Overtook(flow{from, d.correlation}, d.out.ID, now) {
		d.Refuse(recent.Canceled(d.out.ID))
	}
}
