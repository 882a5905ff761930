package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe"
)

// maxUnread is how many events may wait for one reader.
const maxUnread = 4096

// writeTime is how long one write to a reader may take. A reader that takes longer is cut off.
const writeTime = 30 * time.Second

// noKind is the kind of no event.
const noKind events.Kind = "none"

// beatTime is the time between two signs of life of a stream.
const beatTime = 15 * time.Second

// filter selects events; an empty field selects all.
type filter struct{ agent, act, codon, conversation string }

// events streams events until the request or the handler ends (server-sent events, WHATWG HTML
// §9.2).
func (h *Handler) events(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	f := filter{q.Get("agent"), q.Get("act"), q.Get("codon"), q.Get("conversation")}
	kinds, peers, fault := h.streamed(r)
	if fault != nil {
		fail(w, fault)
		return
	}
	s := h.options.Node.Events().Subscribe(events.SubscribeOptions{Capacity: maxUnread, Kinds: kinds})
	defer s.Close()
	w.Header().Set("Content-Type", "text/event-stream")
	out := &stream{w: w, control: http.NewResponseController(w)}
	if out.write(": events of "+quoted(h.options.Node.Name())+"\n\n") != nil {
		return
	}
	beat := time.NewTicker(beatTime) // finds readers that have gone
	defer beat.Stop()
	ctx, end := context.WithCancel(r.Context())
	others := &relays{handler: h, request: r, frames: make(chan string), open: make(map[Peer]context.CancelFunc)}
	defer others.close()
	defer end()
	others.update(ctx, peers())
	members := time.NewTicker(peerAgain)
	defer members.Stop()
	for told := uint64(0); ; {
		var err error
		select {
		case record := <-s.C:
			if text := h.event(f, record); text != "" {
				err = out.write(text)
			}
		case frame := <-others.frames:
			err = out.write(frame)
		case <-members.C:
			if gone := others.update(ctx, peers()); gone != "" {
				err = out.write(gone)
			}
		case <-beat.C:
			err = out.write(": alive\n\n")
		case <-r.Context().Done():
			return
		case <-h.closed:
			return
		}
		if lost := s.Lost(); err == nil && lost != told {
			told = lost
			err = out.write(fmt.Sprintf("event: lost\ndata: {\"lost\":%d,\"node\":%s}\n\n", lost, quoted(h.options.Node.Name())))
		}
		if err != nil {
			return
		}
	}
}

// streamed returns the kinds of events of this node that a stream has, and the nodes whose events
// it has, too.
func (h *Handler) streamed(r *http.Request) (kinds []events.Kind, peers func() []Peer, f *failure) {
	if name := r.URL.Query().Get(nodeParam); name != "" && !performatives.AgentID(name).Is(performatives.AgentID(h.options.Node.Name())) {
		p, f := h.peer(r, name)
		return []events.Kind{noKind}, func() []Peer { return []Peer{p} }, f
	}
	return []events.Kind{
		events.KindMessageSent, events.KindMessageRefused, events.KindMessageDeadLettered, lifecycle.KindTransition, lifecycle.KindEnded, lifecycle.KindJobFailed,
		events.KindSupervisionDecided, events.KindNodeOverload,
	}, func() []Peer { return h.peers(r) }, nil
}

// stream writes to one reader.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func (s *stream) write(text string) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTime)) // a writer of a test has none
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}

// quoted returns text as JSON, without line breaks.
func quoted(text string) string {
	line, _ := json.Marshal(text) // a string can be encoded
	return string(line)
}

// liveMessage is the data of an event about a message.
type liveMessage struct {
	Kind         events.Kind                  `json:"kind"`
	Seq          uint64                       `json:"seq"`
	Time         time.Time                    `json:"time"`
	Conversation performatives.ConversationID `json:"conversation_id"`
	Protocol     string                       `json:"protocol,omitempty"`
	Code         performatives.Code           `json:"code,omitempty"` // of a refusal or a dead letter
	Message      observe.Message              `json:"message"`
}

// liveOverload is the data of an event about the load of a node.
type liveOverload struct {
	Kind events.Kind `json:"kind"`
	Seq  uint64      `json:"seq"`
	Time time.Time   `json:"time"`
	Node string      `json:"node"`
	events.Overload
}

// event returns the text of an event, or nothing if the filter does not select it.
func (h *Handler) event(f filter, record events.Record) string {
	var data any = record
	switch ev := record.Event.(type) {
	case events.MessageSent:
		if h.fromElsewhere(ev.Message) {
			return ""
		}
		data = h.live(f, record, ev.Message, "")
	case events.MessageRefused:
		code := performatives.Code("")
		if ev.Refusal != nil {
			code = ev.Refusal.Code
		}
		data = h.live(f, record, ev.Message, code)
	case events.DeadLetter:
		m, _ := ev.Message.(*performatives.Message)
		data = h.live(f, record, m, ev.Code)
	case lifecycle.Transition:
		if f.act != "" || !f.takes(string(ev.Conversation), ev.Protocol, ev.Agent, ev.Peer) {
			return ""
		}
	case lifecycle.Ended:
		if f.act != "" || !f.takes(string(ev.Conversation), ev.Protocol, ev.Agent, ev.Peer) {
			return ""
		}
	case lifecycle.JobFailed, events.Supervised:
		one, _ := h.options.Recorder.ShowFailure(record)
		if f.act != "" || !f.takes(string(one.Conversation), one.Protocol, one.Agent, one.Peer) {
			return ""
		}
		data = one
	case events.Overload:
		if f != (filter{}) {
			return ""
		}
		data = liveOverload{record.Kind(), record.Seq, record.EventTime(), h.options.Node.Name(), ev}
	}
	if data == nil {
		return ""
	}
	text, err := json.Marshal(data)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("event: %s\nid: %d\ndata: %s\n\n", record.Kind(), record.Seq, text)
}

// fromElsewhere reports whether another node of the cluster has published, as its own, that a
// message was sent.
func (h *Handler) fromElsewhere(m *performatives.Message) bool {
	if h.options.Peers == nil {
		return false
	}
	node, known := h.options.Node.NodeOf(m.Sender())
	return known && node != h.options.Node.Name()
}

// live returns the data of an event about a message; nil if the filter does not select it.
func (h *Handler) live(f filter, record events.Record, m *performatives.Message, code performatives.Code) any {
	if m == nil || f.act != "" && f.act != m.Performative().String() && f.act != m.MessageType() ||
		!f.takes(string(m.ConversationID()), m.Protocol(), m.Sender(), m.Receiver()) {
		return nil
	}
	return liveMessage{record.Kind(), record.Seq, record.EventTime(), m.ConversationID(), m.Protocol(), code, h.options.Recorder.Show(record.EventTime(), m)}
}

func (f filter) takes(conversation, codon string, agents ...performatives.AgentID) bool {
	is := f.agent == ""
	for _, a := range agents {
		is = is || names(f.agent, a)
	}
	return is && (f.codon == "" || f.codon == codon) && (f.conversation == "" || f.conversation == conversation)
}
