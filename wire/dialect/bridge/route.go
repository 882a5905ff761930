package bridge

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// memberRoute is the member of the envelope with the way of a message over several nodes (extension
// routing).
const memberRoute = "route"

// hopLimit is the hop limit of a message without one. maxHops is the largest that is read.
const (
	hopLimit = 16
	maxHops  = 255
)

// route is the way of a message.
type route struct {
	Left int      `json:"hop_limit"` // how many further nodes may pass the message on
	Path []string `json:"path"`      // the names of the nodes that it has passed, the first one first
}

// routeOf reads a route. One that cannot be read is that of a message that has passed no node.
func routeOf(v []byte) route {
	left, err := strconv.Atoi(string(jsonscan.Member(v, "hop_limit")))
	names, wrong := jsonscan.Texts(jsonscan.Member(v, "path"))
	if err != nil || left < 0 || left > maxHops || wrong >= 0 || len(names) > maxHops {
		return route{Left: hopLimit + 1}
	}
	return route{left, names}
}

// checkRoute refuses a message that has been on this node before, and adds this node to its route:
// the message may go on to another node of the cluster, which writes it to a peer.
func (s *session) checkRoute(d *decoder) {
	if s.node == "" || !d.agreed(extensionRouting) {
		return
	}
	r := routeOf(d.out.Metadata[memberRoute])
	if slices.ContainsFunc(r.Path, func(name string) bool { return strings.EqualFold(name, s.node) }) {
		d.WrongAs(performatives.CodeUnknownAgent, memberRoute, "a way that has not passed the node %.64q before", s.node)
	}
	r.Path = append(r.Path, s.node)
	v, _ := jsonscan.Marshal(r) // names are strings, which marshal
	exchange.Keep(&d.out.Metadata, memberRoute, v)
}

// routed returns m with its route for an agent of the peer: longer by this node, or none where the
// peer has not agreed to the extension.
func (s *session) routed(m *performatives.Message, agreed bool) (*performatives.Message, error) {
	came, ok := m.Metadata(memberRoute)
	if !agreed && !ok {
		return m, nil
	}
	r := routeOf(came)
	if agreed && r.Left == 0 {
		return nil, &performatives.Refusal{Code: performatives.CodeUnknownAgent, About: m.ID(), Field: memberRoute, Text: "route: the hop limit is reached"}
	}
	return m.With(func(e *performatives.Envelope) {
		if delete(e.Metadata, memberRoute); !agreed {
			return
		}
		if r.Left--; len(r.Path) == 0 || r.Path[len(r.Path)-1] != s.node {
			r.Path = append(r.Path, s.node)
		}
		v, _ := jsonscan.Marshal(r) // see checkRoute
		exchange.Keep(&e.Metadata, memberRoute, v)
	})
}
