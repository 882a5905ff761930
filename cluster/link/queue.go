package link

import (
	"sync"

	"github.com/ribosome-agents/ribosome/performatives"
)

// parcel is a message with its encoded form.
type parcel struct {
	message *performatives.Message
	data    []byte
	memory  *[]byte // that of data, which returns to forms; nil: data is not reused
}

// forms has memory for the encoded forms of messages that are shorter than short. A frame copies
// these forms, so that nothing refers to one after release.
var forms = sync.Pool{New: func() any { return new([]byte) }}

// release gives back the memory of a parcel that is not sent again.
func (p *parcel) release() {
	if p.memory != nil {
		forms.Put(p.memory)
	}
	*p = parcel{}
}

// maxIdle is the largest number of parcels for which an empty queue keeps memory: that of a longer
// burst is given back. A parcel has 40 bytes, so that after bursts a link keeps up to 160 KiB for
// each band, and as much for the messages under way.
const maxIdle = 4096
