package rag

import (
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/recent"
)

// withdrawn has the CANCELs of the peer that came before their requests, and the latest requests
// that have ended: a CANCEL of one of those is not for a later request with its trace id. The lock
// of the codec guards it.
type withdrawn struct {
	early recent.Early[traceKey]
	ended recent.Map[traceKey, struct{}] // without times: none expires
}

func (c *codec) now() time.Time { return c.opts.Stamper.Stamp().Time }

// endedCall notes the end of a request of the peer.
func (c *codec) endedCall(x *call) {
	if x.Kind != performatives.ActCancel.String() {
		c.withdrawn.ended.Put(x.key(), struct{}{}, time.Time{})
	}
}

// withdraw notes a CANCEL of the peer whose request is not known. It goes to its receiver
// nevertheless, which may have the request by another connection.
func (d *decoder) withdraw() {
	w, at := &d.codec.withdrawn, traceKey{d.out.Sender.Fold(), d.trace}
	if _, over := w.ended.Get(at, time.Time{}); !over {
		w.early.Note(at, d.codec.now())
	}
}

// overtaken refuses a request of the peer whose CANCEL came before it, and each copy of that
// request.
func (d *decoder) overtaken() {
	early := &d.codec.withdrawn.early
	if early.Len() == 0 {
		return
	}
	if early.Overtook(traceKey{d.out.Sender.Fold(), d.trace}, d.out.ID, d.codec.now()) {
		d.Refuse(recent.Canceled(d.out.ID))
	}
}
