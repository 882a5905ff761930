package rossnet

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/wire"
)

func FuzzDecode(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add([]byte(v.Message))
		f.Add([]byte(v.Message)[:len(v.Message)*2/3])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := open(t, func(o *wire.CodecOptions) { o.MaxBytes = 1 << 16 })
		_ = Dialect{}.Recognizes(data)
		for _, in := range c.items(string(data)) {
			if in.Err != nil {
				if !in.Err.Code.Known() || in.Err.Text == "" {
					t.Fatalf("got %#v", in.Err)
				}
				if len(in.Answer) > 0 {
					if m := accept(t, open(t), string(in.Answer)); !isRefusal(m.Performative()) {
						t.Fatalf("answered by %s", in.Answer)
					}
				}
				return
			}
			if in.Message == nil {
				return // PING or PONG
			}
			out, err := c.Encode(nil, in.Message)
			if err != nil {
				t.Fatalf("read and not written: %v", err)
			}
			came, went := exact(t, data).(map[string]any), exact(t, out).(map[string]any)
			for _, m := range []map[string]any{came, went} {
				header := m[memHeader].(map[string]any)
				delete(header, memTimestamp)                                    // in UTC
				delete(header, memToken)                                        // of this session
				for _, name := range []string{memCorrelation, memID, memTask} { // null, and empty text, may be absent
					if v := header[name]; v == nil || v == "" {
						delete(header, name)
					}
				}
				for _, name := range []string{memRecipient, memAgent, memService} {
					if header[name] == nil {
						delete(header, name)
					}
				}
			}
			if _, there := came[memHeader].(map[string]any)[memID]; !there {
				delete(went[memHeader].(map[string]any), memID) // null
			}
			if in.Message.Receiver().Is(in.Message.Sender()) { // the form of the reader is known, and that of the text has more members
				payload, _ := came[memPayload].(map[string]any)
				maps.DeleteFunc(went[memPayload].(map[string]any), func(name string, _ any) bool { _, there := payload[name]; return !there })
			}
			if diff := cmp.Diff(came, went); diff != "" {
				t.Fatalf("-came +went:\n%s\n%s", diff, data)
			}
		}
	})
}
