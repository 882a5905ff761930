package gateway

import (
	"bytes"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// The bounds of a list of tools. Further tools and pages are left out. A list also has a
// deadline, and the pages of all incomplete lists take at most the bytes of one frame.
const (
	maxTools = 10_000
	maxPages = 100
)

// The members that divide a list into pages (MCP, Pagination).
const (
	paramCursor      = "cursor"
	resultNextCursor = "nextCursor"
)

// pages has the received pages of an incomplete list of tools.
type pages struct {
	tools  [][]byte // the array of each page, unchanged
	next   []byte   // the cursor of the next page, unchanged
	number int      // the number of tools
	bytes  int      // the size of the arrays
}

// following returns the pages with one more page, and reports whether to ask for another.
func (p pages) following(result []byte) (pages, bool) {
	var tools, cursor []byte
	jsonscan.Read(result, nil, jsonscan.Find("tools", &tools), jsonscan.Find(resultNextCursor, &cursor))
	if !jsonscan.Is(cursor, '"') || len(cursor) == 2 || len(cursor) > maxID {
		return p, false
	}
	p.tools = append(p.tools, bytes.Clone(tools))
	p.next = bytes.Clone(cursor)
	p.bytes += len(tools)
	for range jsonscan.Elements(tools) {
		if p.number++; p.number == maxTools {
			break
		}
	}
	return p, p.number < maxTools && len(p.tools) < maxPages
}

// turn asks for the next page of a list of tools. It reports false when the received page is the
// last one to read, the request has been cancelled, so that it has expired, or its deadline has
// passed, or the pages exceed their bound.
func (c *codec) turn(e *envelope, r *rpc, q *request) (wire.Inbound, bool) {
	p, more := q.pages.following(r.result)
	if !more || r.Refusal != nil {
		c.drop(q)
		return wire.Inbound{}, false
	}
	s := c.stamp()
	c.mu.Lock()
	next := &request{Request: exchange.Request{Kind: q.Kind, Expires: q.Expires}, envelope: string(s.ID), message: q.message, pages: p}
	c.requests.Remove(q)
	more = s.Time.Before(q.Expires) && c.fits(c.paged+p.bytes)
	if more {
		c.add(next)
	}
	c.mu.Unlock()
	if !more {
		return wire.Inbound{}, false
	}
	frame, err := c.appendRequest(nil, next, next.message, s.Time)
	return wire.Inbound{Token: e.token, Answer: frame, Ref: next}, err == nil
}

// drop removes a request that is not written.
func (c *codec) drop(q *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests.Remove(q)
}

// listed returns the list of tools with its last page. A member nextCursor of the list
// means that there are further pages, which are not read.
func (p pages) listed(last []byte) performatives.InformCapabilities {
	var tools []byte
	out := performatives.InformCapabilities{}
	jsonscan.Read(last, exchange.Rest(&out.Extra), jsonscan.Find("tools", &tools))
	out.Capabilities = &performatives.Capabilities{Actions: actionsOf(append(p.tools, tools)...)}
	return out
}
