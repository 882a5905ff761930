package gateway

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// paged is the answer to the codec's last request, with the tools and a cursor.
func paged(t *testing.T, c *codec, tools string) wire.Inbound {
	t.Helper()
	return one(t, c, fmt.Sprintf(`{"id":null,"timestamp":"2024-01-15T10:30:45Z","source":"peer","mcp_payload":{"jsonrpc":"2.0","id":%d,"result":{"tools":[%s],"nextCursor":"more"}}}`,
		c.counter, tools))
}

func askForTools(t *testing.T, c *codec, n int) {
	t.Helper()
	if _, err := wiretest.Encode(t, c, ask(t, n, performatives.QueryCapabilities{Type: performatives.QuerySummary})); err != nil {
		t.Fatal(err)
	}
}

// untilEnd answers every request for a page with the tools and a cursor for another. It
// returns how many pages were asked for and how many tools were taken, of which the asker
// hears that they are not all.
func untilEnd(t *testing.T, c *codec, tools string) (asked, taken int) {
	t.Helper()
	for {
		in := paged(t, c, tools)
		asked++
		if in.Message == nil && in.Err == nil && len(in.Answer) > 0 {
			continue
		}
		p, err := performatives.PayloadAs[performatives.InformCapabilities](in.Message)
		if err != nil {
			t.Fatalf("%+v: %v", in, err)
		}
		if string(p.Extra["nextCursor"]) != `"more"` {
			t.Errorf("nothing says that the list is cut off: %v", p.Extra)
		}
		if left := c.requests.Len() + c.parties.Len() + c.envelopes.Len() + c.paged; left != 0 {
			t.Errorf("the end has left %+v", c)
		}
		return asked, len(p.Capabilities.Actions)
	}
}

// A peer whose list has no end is asked for so much of it, and no more.
func TestEndlessPages(t *testing.T) {
	many := func(n int) string { return strings.TrimSuffix(strings.Repeat(`"t",`, n), ",") }
	for name, v := range map[string]struct {
		tools        string
		maxBytes     int
		asked, taken int
	}{
		"pages":       {many(2), 1 << 20, maxPages, 2 * maxPages},
		"empty pages": {"", 1 << 20, maxPages, 0},
		"tools":       {many(3000), 1 << 20, 4, maxTools},
		"bytes":       {`"` + strings.Repeat("t", 400) + `"`, 1200, 3, 3}, // 404 bytes each with the brackets; two wait
		"one page":    {many(maxTools + 1), 1 << 20, 1, maxTools},
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, Options{}, wire.CodecOptions{MaxBytes: v.maxBytes, MaxPending: 4})
			askForTools(t, c, 1)
			if asked, taken := untilEnd(t, c, v.tools); asked != v.asked || taken != v.taken {
				t.Errorf("%d tools on %d pages, want %d on %d", taken, asked, v.taken, v.asked)
			}
		})
	}
}

// The pages of all lists that are under way share the room for them.
func TestPagesShareRoom(t *testing.T) {
	c := open(t, Options{}, wire.CodecOptions{MaxBytes: 1200, MaxPending: 4})
	page := `"` + strings.Repeat("t", 600) + `"`
	askForTools(t, c, 1)
	if in := paged(t, c, page); len(in.Answer) == 0 {
		t.Fatalf("the first list is cut off: %+v", in)
	}
	askForTools(t, c, 2)
	if in := paged(t, c, page); in.Message == nil {
		t.Errorf("both lists wait: %+v", in)
	}
	if c.paged != 604 {
		t.Errorf("%d bytes are held for the first", c.paged)
	}
}

// Nobody waits for the rest of a list after its deadline.
func TestPagesExpire(t *testing.T) {
	at := &clock{}
	c := open(t, Options{}, wire.CodecOptions{Stamper: at})
	askForTools(t, c, 1)
	if in := paged(t, c, `"a"`); len(in.Answer) == 0 {
		t.Fatalf("no second page: %+v", in)
	}
	at.ahead = defaultTimeout + exchange.Linger
	if asked, taken := untilEnd(t, c, `"b"`); asked != 1 || taken != 2 {
		t.Errorf("%d tools after %d pages more, want 2 after 1", taken, asked)
	}
}

// An invalid page ends a list: the asker gets the pages before it.
func TestInvalidPage(t *testing.T) {
	for _, page := range []string{`"jsonrpc":"1.0","result":{"tools":[]}`, `"jsonrpc":"2.0","result":{},"error":{}`, `"jsonrpc":"2.0","error":{"code":-32603}`} {
		c := open(t, Options{}, wire.CodecOptions{})
		askForTools(t, c, 1)
		paged(t, c, `"a"`)
		in := one(t, c, fmt.Sprintf(`{"id":null,"timestamp":"2024-01-15T10:30:45Z","source":"peer","mcp_payload":{"id":%d,%s}}`, c.counter, page))
		p, err := performatives.PayloadAs[performatives.InformCapabilities](in.Message)
		if err != nil || len(p.Capabilities.Actions) != 1 || string(p.Extra["nextCursor"]) != `"more"` || c.requests.Len() != 0 {
			t.Errorf("after %s: %+v, %v", page, in, err)
		}
	}
}

// interrupted is a Stamper that is called while a frame is read. Another goroutine does something
// meanwhile: nothing but the codec orders the two.
type interrupted struct {
	clock
	by func()
}

func (s *interrupted) Stamp() performatives.Stamp {
	if by := s.by; by != nil {
		s.by = nil
		go by()
		time.Sleep(time.Millisecond) // of virtual time: by has ended
	}
	return s.clock.Stamp()
}

// A cancelled list ends with the page that was asked for before, also if that is being read.
func TestCancelledPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, meanwhile := range []bool{false, true} {
			s := &interrupted{}
			c := open(t, Options{}, wire.CodecOptions{Stamper: s})
			m := ask(t, 1, performatives.QueryCapabilities{Type: performatives.QuerySummary})
			cancel, err := performatives.New(performatives.Envelope{
				ID: "cancel", Timestamp: m.Timestamp(), Sender: m.Sender(), Receiver: m.Receiver(), ConversationID: m.ConversationID(),
				InReplyTo: string(m.ID()), ReplyBy: m.ReplyBy(), Payload: performatives.Cancel{},
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := wiretest.Encode(t, c, m); err != nil {
				t.Fatal(err)
			}
			written := make(chan error, 1)
			withdraw := func() {
				_, err := c.Encode(nil, cancel)
				written <- err
			}
			if meanwhile {
				s.by = withdraw
			} else {
				withdraw()
			}
			if in := paged(t, c, `"a"`); len(in.Answer) != 0 || in.Message == nil || c.requests.Len() != 0 {
				t.Errorf("meanwhile %t: %+v, %d requests", meanwhile, in, c.requests.Len())
			}
			if err := <-written; err != nil {
				t.Error(err)
			}
		}
	})
}

// A cursor may be so long, and a request for a page not longer than a frame.
func TestLongCursor(t *testing.T) {
	for bytes, want := range map[int]bool{maxID - 2: true, maxID - 1: false} {
		c := open(t, Options{}, wire.CodecOptions{})
		askForTools(t, c, 1)
		in := one(t, c, fmt.Sprintf(`{"id":null,"timestamp":"2024-01-15T10:30:45Z","source":"peer","mcp_payload":{"jsonrpc":"2.0","id":1,"result":{"nextCursor":%q}}}`,
			strings.Repeat("c", bytes)))
		if got := len(in.Answer) > 0; got != want || got == (in.Message != nil) {
			t.Errorf("a cursor of %d bytes: %+v", bytes, in)
		}
	}
	c := open(t, Options{}, wire.CodecOptions{MaxBytes: 1024})
	askForTools(t, c, 1)
	in := one(t, c, fmt.Sprintf(`{"id":null,"timestamp":"2024-01-15T10:30:45Z","source":"p","mcp_payload":{"jsonrpc":"2.0","id":1,"result":{"nextCursor":%q}}}`,
		strings.Repeat("c", 890)))
	if in.Message == nil || c.requests.Len() != 0 {
		t.Errorf("a request that is longer than a frame: %+v", in)
	}
}
