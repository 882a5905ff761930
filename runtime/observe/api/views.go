package api

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe"
)

// NodeView is the answer of GET /api/node.
type NodeView struct {
	Node        string         `json:"node"`
	Refused     uint64         `json:"messages_refused"`
	DeadLetters uint64         `json:"dead_letters"`
	Agents      int            `json:"agents"`
	Remote      int            `json:"remote_agents"`
	Open        int            `json:"open_conversations"`
	Working     int            `json:"running_handlers"`
	Queued      int            `json:"queued_handlers"`  // of those, the ones that wait for a processor
	Overloaded  bool           `json:"overloaded"`       // the node refuses requests that it cannot do in time
	Overload    uint64         `json:"overload_refused"` // such requests since it started
	Members     int            `json:"members"`
	Links       int            `json:"links"`    // to other nodes of the cluster
	LinksUp     int            `json:"links_up"` // those over which messages pass
	Recorder    observe.Counts `json:"recorder"`
}

func (h *Handler) node(*http.Request) (NodeView, *failure) {
	n := h.options.Node
	c := n.Counts()
	links, up := n.Links()
	return NodeView{
		n.Name(), c.Refused, c.DeadLetters, c.Agents, c.Remote, c.Open, c.Working, c.Queued, c.Refusing, c.Overload, max(1, len(n.Members())), links, up, h.options.Recorder.Counts(),
	}, nil
}

// NodeList is the answer of GET /api/nodes.
type NodeList struct {
	Nodes []NodeView `json:"nodes"`
	partial
}

func (h *Handler) nodes(r *http.Request) (NodeList, *failure) {
	v, f := h.node(r)
	return NodeList{Nodes: []NodeView{v}}, f
}

// mergeNodes lists the nodes by name.
func mergeNodes(_ *http.Request, parts []part[NodeList]) (v NodeList) {
	v.Nodes = listed(parts, func(l NodeList) []NodeView { return l.Nodes })
	slices.SortFunc(v.Nodes, func(a, b NodeView) int { return cmp.Compare(a.Node, b.Node) })
	return v
}

// MemberView is a node of the cluster.
type MemberView struct {
	cluster.Member
	// Unlinked is the reason why no messages pass between the node that answers and this one; empty
	// if they do.
	Unlinked string `json:"unlinked,omitempty"`
}

// MemberList is the answer of GET /api/members.
type MemberList struct {
	Members []MemberView `json:"members"`
}

func (h *Handler) members(*http.Request) (MemberList, *failure) {
	all, states := []MemberView{}, h.options.Node.LinkStates()
	members := h.options.Node.Members()
	if members == nil {
		members = []cluster.Member{{Incarnation: cluster.Incarnation{Name: h.options.Node.Name()}}}
	}
	for _, m := range members {
		if m.Labels == nil {
			m.Labels = map[string]string{} // an object in JSON, not null
		}
		v := MemberView{Member: m}
		if why := states[m.Incarnation]; why != nil {
			v.Unlinked = why.Error()
		}
		all = append(all, v)
	}
	return MemberList{all}, nil
}

// AgentView is an agent that discovery finds, or the node itself, which is the sender of what its
// program begins.
type AgentView struct {
	ID            performatives.AgentID `json:"agent"`
	Node          string                `json:"node"`
	Queued        map[string]int        `json:"queued,omitempty"` // by priority; of an agent of this node
	Wait          float64               `json:"oldest_wait_s"`    // how long the oldest message that waits has been on the node, in seconds
	Conversations int                   `json:"conversations"`    // its sides that are under way on this node

	// Running, Errors and Restarts are nil for an agent of another node.
	Running  *int    `json:"running,omitempty"`  // its jobs and handlers under way
	Errors   *uint64 `json:"errors,omitempty"`   // jobs and handlers that have failed or panicked since it started, or since the recorder began
	Restarts *uint64 `json:"restarts,omitempty"` // since it started, or since the recorder began

	// BusySince and BusyWith are of an agent of this node whose actor does not come back: see
	// [actors.Self.Busy].
	BusySince time.Time `json:"busy_since,omitzero"`
	BusyWith  string    `json:"busy_with,omitempty"`

	Health *runtime.Health `json:"health,omitempty"` // as far as this node knows it

	Topics  []string `json:"topics,omitempty"`
	Actions []string `json:"actions,omitempty"` // by name
}

// AgentList is the answer of GET /api/agents.
type AgentList struct {
	Agents []AgentView `json:"agents"`
	partial
}

func (h *Handler) agents(*http.Request) (AgentList, *failure) {
	n := h.options.Node
	open := make(map[performatives.AgentID]int)
	for _, i := range n.Conversations() {
		open[i.Agent.Fold()]++
	}
	all, incidents := []AgentView{}, h.options.Recorder.Incidents()
	for _, e := range append([]runtime.Entry{{ID: n.Self().ID(), Node: n.Name()}}, n.Directory().All()...) { // discovery does not find the node itself
		a := AgentView{ID: e.ID, Node: e.Node, Conversations: open[e.ID.Fold()], Topics: e.Capabilities.Topics}
		for _, action := range e.Capabilities.Actions {
			a.Actions = append(a.Actions, action.Name)
		}
		if self, local := n.System().Lookup(e.ID); local {
			a.Queued, a.Wait = queued(self, time.Now())
			running, of := self.Working(), incidents[e.ID.Fold()]
			a.Running, a.Errors, a.Restarts = &running, &of.Errors, &of.Restarts
			a.busy(self)
		}
		if health, ok := h.options.Recorder.Health(e.ID); ok {
			a.Health = &health
		}
		all = append(all, a)
	}
	slices.SortFunc(all, byName)
	return AgentList{Agents: all}, nil
}

// busy says since when and with what the agent's actor is busy.
func (a *AgentView) busy(self actors.Self) {
	since, m := self.Busy()
	switch a.BusySince = since.UTC(); {
	case since.IsZero():
		a.BusySince = since
	case m == nil:
		a.BusyWith = "a hook or a function of its own"
	default:
		a.BusyWith = fmt.Sprintf("%s of %s in conversation %s", m.Performative(), m.Sender(), m.ConversationID())
	}
}

func byName(a, b AgentView) int { return cmp.Compare(a.ID.Fold(), b.ID.Fold()) }

func queued(a actors.Self, now time.Time) (by map[string]int, wait float64) {
	by = make(map[string]int)
	for _, p := range []performatives.Priority{performatives.Urgent, performatives.High, performatives.Normal, performatives.Low} {
		n, oldest := a.Backlog(p)
		if by[p.String()] = n; !oldest.IsZero() {
			wait = max(wait, now.Sub(oldest).Seconds())
		}
	}
	return by, wait
}

// ConversationList is the answer of GET /api/conversations.
type ConversationList struct {
	Conversations []observe.Conversation `json:"conversations"`
	Next          string                 `json:"next,omitempty"` // the cursor of the next page; empty at the end
	AsOf          marks                  `json:"as_of"`          // what follows is since then
	partial
}

// marks says as of when an answer is, by node.
type marks map[string]observe.Mark

// MarshalText returns a text for the parameter since.
func (m marks) MarshalText() ([]byte, error) {
	text, err := json.Marshal(map[string]observe.Mark(m))
	return hex.AppendEncode(nil, text), err
}

// UnmarshalText reads a text of MarshalText.
func (m *marks) UnmarshalText(text []byte) error {
	text, err := hex.AppendDecode(nil, text)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, (*map[string]observe.Mark)(m))
}

// since returns the mark of this node in a request. It refuses one that cannot be read.
func (h *Handler) since(r *http.Request) (observe.Mark, *failure) {
	var all marks
	if text := r.URL.Query().Get(sinceParam); text != "" && all.UnmarshalText([]byte(text)) != nil {
		return observe.Mark{}, badRequest(sinceParam, "since is not the as_of of an answer of this interface; begin without one")
	}
	return all[h.options.Node.Name()], nil
}

// sinceParam is the parameter of a request for changes only.
const sinceParam = "since"

// The largest and the usual number of conversations in a page.
const (
	maxPage   = 1000
	usualPage = 100
)

func (h *Handler) conversations(r *http.Request) (p ConversationList, f *failure) {
	q := r.URL.Query()
	limit, f := limitOf(r)
	if f != nil {
		return p, f
	}
	if live := q.Get("live"); live != "" && live != "true" && live != "false" {
		return p, badRequest("live", "live has to be true or false")
	}
	after, f := keyIn(r, conversationKey)
	if f != nil {
		return p, f
	}
	since, f := h.since(r)
	if f != nil {
		return p, f
	}
	all, mark := h.options.Recorder.ConversationsSince(since)
	p = ConversationList{Conversations: []observe.Conversation{}, AsOf: marks{h.options.Node.Name(): mark}}
	for _, c := range all {
		key := keyOf(c)
		h.relay(&c)
		if len(after) > 0 && key >= after || !h.matches(c, q.Get) {
			continue
		}
		if len(p.Conversations) == limit {
			p.Next = cursorOf(p.Conversations[limit-1])
			break
		}
		p.Conversations = append(p.Conversations, c)
	}
	return p, nil
}

// limitOf returns the largest number of entries that a request wants.
func limitOf(r *http.Request) (int, *failure) {
	limit, err := strconv.Atoi(cmp.Or(r.URL.Query().Get("limit"), strconv.Itoa(usualPage)))
	if err != nil || limit < 1 || limit > maxPage {
		return 0, badRequest("limit", "limit has to be a number from 1 to "+strconv.Itoa(maxPage))
	}
	return limit, nil
}

// cursorOf returns the cursor of the page after the one that ends with a conversation.
func cursorOf(c observe.Conversation) string {
	return base64.RawURLEncoding.EncodeToString([]byte(keyOf(c)))
}

// keyIn returns the key of the cursor of a request, empty for an empty one. It refuses any text but
// a cursor of this API: a key has a time, and behind it a text that rest matches.
func keyIn(r *http.Request, rest *regexp.Regexp) (string, *failure) {
	text, err := base64.RawURLEncoding.DecodeString(r.URL.Query().Get("cursor"))
	if err == nil && len(text) == 0 {
		return "", nil
	}
	at := min(len(sortedTime), len(text))
	if _, bad := time.Parse(sortedTime, string(text[:at])); err == nil && bad == nil && rest.Match(text[at:]) {
		return string(text), nil
	}
	return "", badRequest("cursor", "the cursor is not one of this interface; begin without one")
}

// conversationKey matches what [keyOf] returns behind the time.
var conversationKey = regexp.MustCompile(`(?s)^.+$`)

// sortedTime is a format whose texts sort as times do.
const sortedTime = "2006-01-02T15:04:05.000000000"

// keyOf returns a text that sorts conversations as [observe.Recorder.Conversations] lists them, in
// reverse: it inverts the bytes of the id.
func keyOf(c observe.Conversation) string {
	id := []byte(c.ID)
	for i := range id {
		id[i] = ^id[i]
	}
	return c.Began.UTC().Format(sortedTime) + string(id) + "\xff"
}

// relays reports whether the node only passes the messages of a conversation on, such as those
// between two programs that have connected as agents. It has no side of it then, and does not know
// whether it has ended; another node may.
func (h *Handler) relays(c observe.Conversation) bool {
	if len(c.Sides) > 0 || c.From == "" {
		return false
	}
	return !slices.ContainsFunc([]performatives.AgentID{c.From, c.To}, func(id performatives.AgentID) bool {
		_, own := h.options.Node.System().Lookup(id)
		return own
	})
}

// relay enters whether the node relays a conversation.
func (h *Handler) relay(c *observe.Conversation) {
	if c.Relayed = h.relays(*c); !c.Relayed {
		c.Lost = ""
	}
}

// here reports whether an agent is not one of another node, which knows more about its
// conversations.
func (h *Handler) here(id performatives.AgentID) bool {
	node, known := h.options.Node.NodeOf(id)
	return !known || node == h.options.Node.Name()
}

// names reports whether a filter names an agent: by its id, or a guest by the id under which it
// sends.
func names(want string, id performatives.AgentID) bool {
	return id.Is(performatives.AgentID(want)) || id.Name().Is(performatives.AgentID(want))
}

// matches reports whether a conversation passes the filters of a request.
func (h *Handler) matches(c observe.Conversation, get func(string) string) bool {
	of := func(name string, has func(s observe.Side) string) bool {
		want := get(name)
		return want == "" || slices.ContainsFunc(c.Sides, func(s observe.Side) bool { return strings.EqualFold(has(s), want) })
	}
	unknown := c.Relayed && c.Lost == "" // whether it has ended
	switch {
	case get("codon") != "" && get("codon") != c.Protocol,
		get("live") == "true" && !c.Live && !(unknown && h.here(c.From) && h.here(c.To)),
		get("live") == "false" && (c.Live || unknown),
		get("parent") != "" && get("parent") != string(c.Parent),
		!of("state", func(s observe.Side) string { return s.State }),
		get("agent") != "" && !names(get("agent"), c.From) && !names(get("agent"), c.To) &&
			!slices.ContainsFunc(c.Sides, func(s observe.Side) bool { return names(get("agent"), s.Agent) || names(get("agent"), s.Peer) }):
		return false
	}
	act, text := get("act"), strings.ToLower(get("text"))
	if strings.Contains(strings.ToLower(string(c.ID)), text) {
		text = ""
	}
	if act == "" && text == "" {
		return true
	}
	return slices.ContainsFunc(h.options.Recorder.Messages(c.ID), func(m observe.Message) bool {
		return (act == "" || act == m.Performative || act == m.MessageType) && (text == "" || bytes.Contains(bytes.ToLower(m.Payload), []byte(text)))
	})
}

// ConversationView is the answer of GET /api/conversations/{id}.
type ConversationView struct {
	observe.Conversation
	Failures []observe.Failure              `json:"failures"` // of the agents on its sides, the latest first
	Children []performatives.ConversationID `json:"children"`
	Next     []NextView                     `json:"next_moves"` // of the sides that are under way
	AsOf     marks                          `json:"as_of"`      // what follows is since then
	partial
}

// NextView has the next moves of one side that the table of the codon allows.
type NextView struct {
	Agent performatives.AgentID `json:"agent"`
	Role  string                `json:"role"`
	State string                `json:"state"`
	Moves []string              `json:"moves"`
}

// orderNext puts the next moves into an order that is the same from any node.
func (v *ConversationView) orderNext() {
	slices.SortStableFunc(v.Next, func(a, b NextView) int {
		return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.State, b.State))
	})
}

func (h *Handler) conversation(r *http.Request) (v ConversationView, f *failure) {
	id := performatives.ConversationID(r.PathValue("id"))
	since, f := h.since(r)
	if f != nil {
		return v, f
	}
	c, mark, ok := h.options.Recorder.ConversationSince(id, since)
	if !ok {
		return v, notFound("unknown_conversation", "no conversation with this id is under way or recorded on this node: /api/conversations, and the command ribosome conversations, list those that are")
	}
	h.relay(&c)
	v = ConversationView{Conversation: c, Failures: h.options.Recorder.Failures("", id), Children: append([]performatives.ConversationID{}, h.options.Recorder.Children(id)...), Next: []NextView{}, AsOf: marks{h.options.Node.Name(): mark}}
	for _, s := range c.Sides {
		if m := h.machines[c.Protocol]; m != nil && !s.Ended && c.Live {
			v.Next = append(v.Next, NextView{s.Agent, s.Role, s.State, moves(m, s)})
		}
	}
	v.orderNext()
	return v, nil
}

func moves(m *machine.Machine, s observe.Side) []string {
	role := machine.Initiator
	if s.Role == machine.Responder.String() {
		role = machine.Responder
	}
	texts := []string{}
	for _, on := range m.Expects(machine.Status{Role: role, State: machine.State(s.State)}) {
		if text := on.String(); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// codonView is the answer of GET /api/codons/{name}.
type codonView struct {
	Name     string     `json:"name"`
	Title    string     `json:"title"`
	Purpose  string     `json:"purpose"`
	Source   string     `json:"source"`
	Live     []string   `json:"live_states"`
	Terminal []string   `json:"terminal_states"`
	Rows     []rowView  `json:"rows"`
	Diagrams []rolePart `json:"diagrams"`
}

type rowView struct {
	Role string   `json:"role"`
	From []string `json:"from"`
	On   []string `json:"on"`
	To   string   `json:"to,omitempty"` // empty: the state stays
	Why  string   `json:"why,omitempty"`
}

// rolePart is the state diagram of one role, in Mermaid.
type rolePart struct {
	Role    string `json:"role"`
	Mermaid string `json:"mermaid"`
}

func (h *Handler) codon(r *http.Request) (codonView, *failure) {
	m := h.machines[r.PathValue("name")]
	if m == nil {
		return h.codonElsewhere(r)
	}
	t := m.Table()
	v := codonView{
		Name: t.Name, Title: t.Title, Purpose: t.Purpose, Source: t.Source, Live: texts(t.Live, state), Terminal: texts(t.Terminal, state), Rows: []rowView{},
	}
	for _, row := range t.Rows {
		v.Rows = append(v.Rows, rowView{row.Role.String(), texts(row.From, state), texts(row.On, machine.Symbol.String), string(row.To), row.Why})
	}
	for _, role := range []machine.Role{machine.Initiator, machine.Responder} {
		if t.Has(role) {
			v.Diagrams = append(v.Diagrams, rolePart{role.String(), t.Diagram(role)})
		}
	}
	return v, nil
}

// codonElsewhere returns the table that another node has of a codon. The error names the nodes that
// perhaps have it and have not answered.
func (h *Handler) codonElsewhere(r *http.Request) (v codonView, f *failure) {
	switch others, missing := ask[codonView](h, r, h.peers(r)); {
	case len(others) > 0:
		return others[0].view, nil
	case len(missing) > 0:
		return v, notFound(outcomeIncomplete, "no node that has answered has this codon"+unanswered(missing))
	}
	return v, notFound("unknown_codon", "there is no codon of this name; the protocol of a conversation is one")
}

func state(s machine.State) string { return string(s) }

func texts[T any](values []T, text func(T) string) []string {
	all := []string{}
	for _, v := range values {
		all = append(all, text(v))
	}
	return all
}

// readBody decodes the JSON of a request. The names of its members match exactly, and each may
// occur once. The error is io.EOF for an empty body.
func readBody(r *http.Request, into any) error {
	text, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		return err
	case len(bytes.TrimSpace(text)) == 0:
		return io.EOF
	}
	return jsonscan.UnmarshalKnown(text, into)
}
