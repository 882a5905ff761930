package api

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe"
)

// Peer is another node of the cluster.
type Peer struct {
	Node string // its name
	URL  string // the address of its operator's interface, such as https://10.0.0.2:8080; empty if it has none
}

// The bounds of a request to another node.
const (
	peerTime    = 5 * time.Second   // for an answer
	peerActTime = maxAct + peerTime // for that of an act
	peerSilence = 45 * time.Second  // after which a stream of events has ended; a live one has a sign of life every beatTime
	peerAgain   = 2 * time.Second   // between two attempts to open a stream
	lostTime    = 10 * time.Minute  // for which a lost node is named
	maxAnswer   = 64 << 20          // bytes of an answer
	maxLine     = 17 << 20          // bytes of a line of a stream; a message of a session has 16 MiB at most
	viaHeader   = "Ribosome-Via"    // names the node that passes a request on; such a request is not passed on again
	nodeParam   = "node"            // of a request that is about one node only
)

// Absent is a node whose part of a view is missing.
type Absent struct {
	Node string `json:"node"`
	Why  string `json:"why"`
}

// partial is a part of each view of several nodes.
type partial struct {
	Missing []Absent `json:"missing,omitempty"` // the nodes that have not answered
}

func (p *partial) lack(nodes []Absent) { p.Missing = nodes }

// part is the answer of one node.
type part[T any] struct {
	node string
	view T
}

// newClient returns a client for requests to other nodes. It uses no proxy and follows no
// redirection: the operator's token is for nodes only.
func newClient(config *tls.Config) *http.Client {
	own := new(tls.Config)
	if config != nil {
		own = config.Clone()
		own.Certificates, own.GetClientCertificate = nil, nil
	}
	return &http.Client{
		Transport:     &http.Transport{TLSClientConfig: own, ForceAttemptHTTP2: true, TLSHandshakeTimeout: peerTime, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// peers returns the other nodes whose parts a request wants: none for a request about one node.
func (h *Handler) peers(r *http.Request) []Peer {
	if h.options.Peers == nil || r.URL.Query().Has(nodeParam) {
		return nil
	}
	return h.options.Peers()
}

// routed passes a request that is about another node on to it, with the operator's token: that node
// decides what the operator may.
func (h *Handler) routed(w http.ResponseWriter, r *http.Request, own http.HandlerFunc) (passedTo string, status int) {
	name := r.URL.Query().Get(nodeParam)
	if name == "" || performatives.AgentID(name).Is(performatives.AgentID(h.options.Node.Name())) {
		own(w, r)
		return "", 0
	}
	p, f := h.peer(r, name)
	if f != nil {
		fail(w, f)
		return "", 0
	}
	body, err := io.ReadAll(r.Body) // here, since its end changes the header of the answer
	if err != nil {
		fail(w, badRequest("body", fmt.Sprintf("the body cannot be read: %v", err)))
		return p.Node, http.StatusBadRequest
	}
	a, err := h.askPeer(r, p, bytes.NewReader(body))
	if err != nil {
		fail(w, failed(http.StatusBadGateway, "node_unreachable", fmt.Sprintf("the node %q does not answer: %v", name, err)))
		return p.Node, http.StatusBadGateway
	}
	a.write(w)
	return p.Node, a.status
}

// peer returns another node. It refuses a request that has been passed on before.
func (h *Handler) peer(r *http.Request, name string) (Peer, *failure) {
	if r.Header.Get(viaHeader) != "" {
		return Peer{}, failed(http.StatusMisdirectedRequest, "misdirected", fmt.Sprintf("this is the node %q: the node %q announces a wrong address", h.options.Node.Name(), name))
	}
	if h.options.Peers != nil {
		for _, p := range h.options.Peers() {
			if performatives.AgentID(name).Is(performatives.AgentID(p.Node)) {
				return p, nil
			}
		}
	}
	return Peer{}, notFound("unknown_node", fmt.Sprintf("there is no node %q in the cluster; GET /api/members lists those that there are", name))
}

// answered is an answer that was read to its end.
type answered struct {
	status int
	header http.Header
	body   []byte
}

func (a *answered) write(w http.ResponseWriter) {
	if v := a.header.Get("Www-Authenticate"); v != "" {
		w.Header().Set("Www-Authenticate", v)
	}
	if kind := a.header.Get("Content-Type"); kind != "application/json" { // metrics, or the answer of something else
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(a.status)
		_, _ = w.Write(a.body) // the client has gone
		return
	}
	send(w, a.status, a.body)
}

// newRequest returns a request to another node for the same as r, with its token and no other of
// its headers.
func (h *Handler) newRequest(ctx context.Context, r *http.Request, p Peer, body io.Reader) (*http.Request, error) {
	if p.URL == "" {
		return nil, errors.New("it has no operator's interface; start it with --http")
	}
	if r.TLS != nil && !strings.HasPrefix(p.URL, "https://") {
		return nil, errors.New("its interface is without TLS, and a token that came by TLS is not sent there; start it with --tls-cert")
	}
	q := r.URL.Query()
	q.Set(nodeParam, p.Node)
	out, err := http.NewRequestWithContext(ctx, r.Method, strings.TrimSuffix(p.URL, "/")+r.URL.EscapedPath()+"?"+q.Encode(), body)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"Authorization", "Content-Type"} {
		if v := r.Header.Get(name); v != "" {
			out.Header.Set(name, v)
		}
	}
	out.Header.Set(viaHeader, h.options.Node.Name())
	return out, nil
}

// askPeer sends a request to another node, and returns its answer.
func (h *Handler) askPeer(r *http.Request, p Peer, body io.Reader) (*answered, error) {
	patience := peerTime
	if r.Method != http.MethodGet {
		patience = peerActTime
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	out, err := h.newRequest(ctx, r, p, body)
	if err != nil {
		return nil, err
	}
	got, err := h.client.Do(out)
	if err != nil {
		return nil, reason(err)
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(got.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, reason(err)
	case len(text) > maxAnswer:
		return nil, fmt.Errorf("its answer is longer than %d bytes; ask for less", maxAnswer)
	}
	return &answered{got.StatusCode, got.Header, text}, nil
}

// reason returns an error without the address, which may have parts of a query.
func reason(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// failure returns the reason of an answer that is no view.
func (a *answered) failure() *failure {
	f := failure{status: a.status}
	if json.Unmarshal(a.body, &f) != nil || f.Error.Code == "" {
		f.Error = errorBody{"", "it answers " + strconv.Itoa(a.status)}
	}
	return &f
}

// spread serves a view of all nodes: merge puts the parts together, of which the first is that of
// this node, if it has one.
func spread[T any, P interface {
	*T
	lack(nodes []Absent)
}](h *Handler, own func(*http.Request) (T, *failure), merge func(r *http.Request, parts []part[T]) T) http.HandlerFunc {
	return serve(func(r *http.Request) (v T, f *failure) {
		peers, lost := h.peers(r), h.lost(r)
		v, f = own(r)
		if len(peers)+len(lost) == 0 || f != nil && f.status != http.StatusNotFound {
			return v, f
		}
		parts, missing := ask[T](h, r, peers)
		if f == nil {
			parts = slices.Insert(parts, 0, part[T]{h.options.Node.Name(), v})
		}
		if missing = append(missing, lost...); len(parts) == 0 && len(missing) > 0 {
			return v, notFound(outcomeIncomplete, "no node that has answered knows it"+unanswered(missing))
		}
		if len(parts) == 0 {
			return v, f
		}
		v = merge(r, parts)
		P(&v).lack(missing)
		return v, nil
	})
}

// lost returns the other nodes that were lost in the last lostTime and have not come back. A
// request about one node has none. A node that has left is missing only where a request is about
// one subject: it has told its peers before.
func (h *Handler) lost(r *http.Request) (all []Absent) {
	if h.options.Peers == nil || r.URL.Query().Has(nodeParam) {
		return nil
	}
	peers := h.options.Peers()
	for _, l := range h.options.Recorder.LostNodes() {
		switch {
		case time.Since(l.Time) > lostTime, l.Reason == "left" && r.PathValue("id") == "",
			slices.ContainsFunc(peers, func(p Peer) bool { return performatives.AgentID(p.Node).Is(performatives.AgentID(l.Node)) }):
			continue
		}
		all = append(all, Absent{l.Node, fmt.Sprintf("it is lost since %s (%s), with what only it knew", l.Time.UTC().Format(time.RFC3339), l.Reason)})
	}
	return all
}

// unanswered returns the end of a text that names the missing nodes; empty without one.
func unanswered(missing []Absent) (text string) {
	for i, m := range missing {
		text += []string{"; no answer came from ", ", "}[min(i, 1)] + m.Node + " (" + m.Why + ")"
	}
	return text
}

// ask asks other nodes, all at once, for their parts of the view that a request is for. A node that
// has nothing about the subject of the request has no part, and is not missing.
func ask[T any](h *Handler, r *http.Request, peers []Peer) (parts []part[T], missing []Absent) {
	answers, errs := h.askPeers(r, peers, "")
	for i, p := range peers {
		switch v, err := partOf[T](answers[i], errs[i]); {
		case err != nil:
			missing = append(missing, Absent{p.Node, err.Error()})
		case v != nil:
			parts = append(parts, part[T]{p.Node, *v})
		}
	}
	return parts, missing
}

// partOf reads the answer of a node. It is nil if the node has no part.
func partOf[T any](a *answered, err error) (*T, error) {
	switch {
	case err != nil:
		return nil, err
	case a.status == http.StatusNotFound && a.failure().Error.Code == codeNoPath:
		return nil, errors.New("its version does not have this view")
	case a.status == http.StatusNotFound:
		return nil, nil
	case a.status != http.StatusOK:
		return nil, errors.New(a.failure().text())
	}
	v := new(T)
	if err := json.Unmarshal(a.body, v); err != nil {
		return nil, fmt.Errorf("its answer cannot be read: %w", err)
	}
	return v, nil
}

// listed returns what the parts of a view list, one after the other; it is not nil.
func listed[T, E any](parts []part[T], list func(T) []E) []E {
	all := []E{}
	for _, p := range parts {
		all = append(all, list(p.view)...)
	}
	return all
}

// mergeAgents returns the view of each agent from its own node.
func mergeAgents(_ *http.Request, parts []part[AgentList]) (v AgentList) {
	by := make(map[performatives.AgentID]AgentView)
	for i, p := range parts {
		for _, a := range p.view.Agents {
			if _, known := by[a.ID.Fold()]; !known && i == 0 || a.Node == p.node {
				by[a.ID.Fold()] = a
			}
		}
	}
	v.Agents = make([]AgentView, 0, len(by))
	for _, a := range by {
		v.Agents = append(v.Agents, a)
	}
	slices.SortFunc(v.Agents, byName)
	return v
}

// mergePages puts pages together that were asked for with the same cursor.
func mergePages(r *http.Request, parts []part[ConversationList]) ConversationList {
	limit, _ := limitOf(r) // this node has answered
	by, more := make(forest), false
	all := ConversationList{Conversations: []observe.Conversation{}, AsOf: marks{}}
	for _, p := range parts {
		more = more || p.view.Next != ""
		maps.Copy(all.AsOf, p.view.AsOf)
		for _, c := range p.view.Conversations {
			by.add(c)
		}
	}
	for _, c := range by {
		all.Conversations = append(all.Conversations, *c)
	}
	slices.SortFunc(all.Conversations, func(a, b observe.Conversation) int { return cmp.Compare(keyOf(b), keyOf(a)) })
	if len(all.Conversations) > limit {
		all.Conversations, more = all.Conversations[:limit], true
	}
	if more {
		all.Next = cursorOf(all.Conversations[len(all.Conversations)-1])
	}
	return all
}

// join merges another node's record of the same conversation into c.
func join(c *observe.Conversation, other observe.Conversation) {
	c.Parent, c.Protocol, c.Live = cmp.Or(c.Parent, other.Parent), cmp.Or(c.Protocol, other.Protocol), c.Live || other.Live
	if c.From == "" || other.From != "" && other.Began.Before(c.Began) {
		c.From, c.To = other.From, other.To
	}
	if other.Began.Before(c.Began) {
		c.Began = other.Began
	}
	if other.Updated.After(c.Updated) {
		c.Updated = other.Updated
	}
	c.Sides = append(c.Sides, other.Sides...)
	c.Relayed, c.Lost = c.Relayed && other.Relayed, cmp.Or(c.Lost, other.Lost) // otherwise a node has a side, or had one
	if !c.Relayed {
		c.Lost = ""
	}
	c.Order()
	c.Acts = append(c.Acts, other.Acts...)
	slices.SortStableFunc(c.Acts, func(a, b observe.Act) int { return a.Time.Compare(b.Time) })
	c.Messages = joinMessages(c.Messages, other.Messages)
	c.Count, c.Forgotten = max(c.Count, other.Count, len(c.Messages)), max(c.Forgotten, other.Forgotten)
}

// joinMessages puts the messages of two nodes together, in the order of their times, by the clocks
// of the nodes.
func joinMessages(a, b []observe.Message) []observe.Message {
	at := make(map[performatives.MessageID]int, len(a))
	for i, m := range a {
		at[m.ID] = i
	}
	for _, m := range b {
		i, known := at[m.ID]
		if !known {
			a = append(a, m)
			continue
		}
		a[i].Add(m)
	}
	slices.SortStableFunc(a, func(x, y observe.Message) int { return x.Time.Compare(y.Time) })
	return a
}

// mergeConversation merges the records of one conversation from several nodes.
func mergeConversation(_ *http.Request, parts []part[ConversationView]) ConversationView {
	v := parts[0].view
	for _, p := range parts[1:] {
		join(&v.Conversation, p.view.Conversation)
		maps.Copy(v.AsOf, p.view.AsOf)
		v.Children, v.Next, v.Failures = append(v.Children, p.view.Children...), append(v.Next, p.view.Next...), append(v.Failures, p.view.Failures...)
	}
	slices.Sort(v.Children)
	v.Children = slices.Compact(v.Children)
	latestFirst(v.Failures)
	v.orderNext()
	return v
}

// mergeApprovals lists the steps that wait on any node, each with its node.
func mergeApprovals(_ *http.Request, parts []part[ApprovalList]) ApprovalList {
	return ApprovalList{Approvals: listed(parts, func(l ApprovalList) []StepView { return l.Approvals })}
}

// askPeers sends a request with a body, empty for none, to all other nodes at once, and returns
// when each has answered or not.
func (h *Handler) askPeers(r *http.Request, peers []Peer, body string) (answers []*answered, errs []error) {
	answers, errs = make([]*answered, len(peers)), make([]error, len(peers))
	var asked sync.WaitGroup
	for i, p := range peers {
		asked.Go(func() { answers[i], errs[i] = h.askPeer(r, p, strings.NewReader(body)) })
	}
	asked.Wait()
	return answers, errs
}

// relays has the streams of events of other nodes, for one reader.
type relays struct {
	handler *Handler
	request *http.Request
	frames  chan string // of all nodes; what a reader is slow to take waits at the other nodes, which count what they lose
	open    map[Peer]context.CancelFunc
	running sync.WaitGroup
}

// update opens the streams of nodes that are new, and ends those of nodes that have gone. It
// returns what a reader is told about those.
func (s *relays) update(ctx context.Context, peers []Peer) (gone string) {
	for p, end := range s.open {
		if slices.Contains(peers, p) {
			continue
		}
		end()
		delete(s.open, p)
		if !slices.ContainsFunc(peers, func(other Peer) bool { return other.Node == p.Node }) { // not at another address
			gone += nodeState{p.Node, "missing", "it is not a member of the cluster any more"}.frame()
		}
	}
	for _, p := range peers {
		if s.open[p] != nil {
			continue
		}
		ctx, end := context.WithCancel(ctx)
		s.open[p] = end
		s.running.Go(func() { s.relay(ctx, p) })
	}
	return gone
}

// close ends all streams, and waits for their ends.
func (s *relays) close() {
	for _, end := range s.open {
		end()
	}
	s.running.Wait()
}

// nodeState is the data of the event "node" of a stream.
type nodeState struct {
	Node  string `json:"node"`
	State string `json:"state"`         // present: its events follow; missing: they do not
	Why   string `json:"why,omitempty"` // why it is missing
}

// relay passes on the events of a node until ctx ends, and says when they are missing.
func (s *relays) relay(ctx context.Context, p Peer) {
	told := ""
	for {
		err := s.stream(ctx, p, func() {
			told = ""
			s.pass(ctx, nodeState{p.Node, "present", ""}.frame())
		})
		if why := err.Error(); ctx.Err() == nil && why != told { // once for each reason
			told = why
			s.pass(ctx, nodeState{p.Node, "missing", why}.frame())
		}
		select {
		case <-time.After(peerAgain):
		case <-ctx.Done():
			return
		}
	}
}

// frame returns the text of the event.
func (n nodeState) frame() string {
	text, _ := json.Marshal(n) // strings can be encoded
	return "event: node\ndata: " + string(text) + "\n\n"
}

func (s *relays) pass(ctx context.Context, frame string) {
	select {
	case s.frames <- frame:
	case <-ctx.Done():
	}
}

// stream passes on the events of a node until they end, which is an error.
func (s *relays) stream(ctx context.Context, p Peer, opened func()) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	silence := time.AfterFunc(peerSilence, func() { end(errors.New("it is silent")) })
	defer silence.Stop()
	out, err := s.handler.newRequest(ctx, s.request, p, nil)
	if err != nil {
		return err
	}
	got, err := s.handler.client.Do(out)
	if err != nil {
		return cmp.Or(context.Cause(ctx), reason(err))
	}
	defer func() { _ = got.Body.Close() }()
	if got.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(got.Body, maxBody)) // a part is enough to say why
		return errors.New((&answered{got.StatusCode, got.Header, text}).failure().text())
	}
	opened()
	lines := bufio.NewScanner(got.Body)
	lines.Buffer(make([]byte, 0, 4<<10), maxLine)
	var frame bytes.Buffer
	for lines.Scan() {
		silence.Reset(peerSilence)
		line := lines.Bytes()
		switch {
		case len(line) > 0 && line[0] != ':': // a line that begins with a colon is a comment
			frame.Write(line)
			frame.WriteByte('\n')
		case len(line) == 0 && frame.Len() > 0:
			frame.WriteByte('\n')
			s.pass(ctx, frame.String())
			frame.Reset()
		}
	}
	return cmp.Or(context.Cause(ctx), lines.Err(), errors.New("it has ended the stream"))
}
