package rossnet

import (
	"cmp"
	"time"

	"github.com/ribosome-agents/ribosome/wire/dialect/internal/recent"
)

func (c *codec) now() time.Time { return c.opts.Stamper.Stamp().Time }

// ended notes the end of a request of the peer.
func (c *codec) ended(x *call) {
	for _, name := range [...]string{x.Subtask, x.Correlation} {
		if name != "" {
			c.withdrawn.End(flow{x.Agent, name})
		}
	}
}

// withdraw notes a CANCEL of the peer whose request is not known. It goes to its receiver
// nevertheless, which may have the request by another connection.
func (d *decoder) withdraw() {
	if name := cmp.Or(d.subtask, d.correlation); name != "" {
		d.codec.withdrawn.Note(flow{d.out.Sender.Fold(), name}, d.codec.now())
	}
}

// overtaken refuses a request of the peer whose CANCEL came before it, and each copy of that
// request.
func (d *decoder) overtaken() {
	w, from := &d.codec.withdrawn, d.out.Sender.Fold()
	for _, name := range [...]string{d.subtask, d.correlation} {
		if w.Overtook(flow{from, name}, d.out.ID, d.codec.now) {
			d.Refuse(recent.Canceled(d.out.ID))
		}
	}
}
