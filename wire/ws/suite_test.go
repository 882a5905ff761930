package ws

import (
	"context"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

type message = performatives.Message

// reply returns a reply with the text of m.
func reply(t testing.TB, m *message) *message {
	return wiretest.Of(t, performatives.Envelope{
		Sender: m.Receiver(), Receiver: m.Sender(), ConversationID: m.ConversationID(), InReplyTo: string(m.ID()),
		Performative: performatives.ActInform, Payload: m.Payload(),
	})
}

func TestConformance(t *testing.T) {
	for name, compress := range map[string]bool{"plain": false, "compressed": true} {
		t.Run(name, func(t *testing.T) { wiretest.Run(t, transport(compress)) })
	}
}

func transport(compress bool) wiretest.Transport {
	return wiretest.Transport{
		Listen: func(t testing.TB, server *wire.Server) string {
			l, err := Listen(server, Options{Addr: "127.0.0.1:0", Compression: compress, LateAuth: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := l.Stop(context.Background()); err != nil {
					t.Error(err)
				}
			})
			return l.URL()
		},
		Dial: func(ctx context.Context, url string, l wire.Limits) (wire.Conn, error) {
			return Dial(ctx, url, DialOptions{Compression: compress, Limits: l})
		},
	}
}
