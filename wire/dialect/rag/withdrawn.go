package rag

import (
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/recent"
)

func (c *codec) now() time.Time { return c.opts.Stamper.Stamp().Time }

// ended notes the end of a request of the peer.
func (c *codec) ended(x *call) {
	if x.Kind != performatives.ActCancel.String() {
		c.withdrawn.End(x.key())
	}
}

// withdraw notes a CANCEL of the peer whose request is not known. It goes to its receiver
// nevertheless, which may have the request by another connection.
func (d *decoder) withdraw() {
	d.codec.withdrawn.Note(traceKey{d.out.Sender.Fold(), d.trace}, d.codec.now())
}

// overtaken refuses a request of the peer whose CANCEL came before it, and each copy of that
// request.
func (d *decoder) overtaken() {
	if d.codec.withdrawn.Overtook(traceKey{d.out.Sender.Fold(), d.trace}, d.out.ID, d.codec.now) {
		d.Refuse(recent.Canceled(d.out.ID))
	}
}
