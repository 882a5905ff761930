package bridge

import (
	"cmp"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Factory makes the messages of one agent, for programs that speak bridge by themselves (bridge,
// Protocol Factory). A message is validated as one of a peer is. Its methods are safe for
// concurrent use if the Codec's stamper is.
//
//	f := bridge.Factory{Codec: codec, Sender: "agent-1"}
//	m, err := f.Request("agent-2", bridge.ToolRequest{ToolName: "process_data", Arguments: args})
//	…
//	frame, err := codec.Encode(m)
type Factory struct {
	Codec    *Codec                // required
	Sender   performatives.AgentID // required
	Priority performatives.Priority
}

// AgentCapabilities is the payload of a handshake. AgentName and AgentRole are required. AgentID is
// the sender if it is empty, and Version is [Version].
type AgentCapabilities struct {
	AgentID   string         `json:"agent_id"`
	AgentName string         `json:"agent_name"`
	AgentRole string         `json:"agent_role"`
	Tools     []string       `json:"tools"`
	Version   string         `json:"version"`
	Metadata  map[string]any `json:"metadata"`
}

// ToolRequest is the payload of a request. ToolName is required. Arguments must marshal to a JSON
// object; nil is an empty one. A zero Timeout means none; it is written in seconds.
type ToolRequest struct {
	ToolName  string
	Arguments any
	Timeout   time.Duration
}

// ToolResponse is the payload of a response. An empty Error is null.
type ToolResponse struct {
	Success       bool
	Result        any
	ExecutionTime time.Duration
	Error         string
}

// ErrorDetails is the payload of an error. ErrorCode is required, and should be one of the six
// standard codes. An empty ErrorType is that of the standard code, or else null.
type ErrorDetails struct {
	ErrorCode    string `json:"error_code"`
	ErrorMessage string `json:"error_message"`
	ErrorType    string `json:"error_type,omitempty"`
	Details      any    `json:"details,omitempty"`
}

// HandshakeRequest makes a handshake_request. An empty receiver means any agent.
func (f Factory) HandshakeRequest(to performatives.AgentID, own AgentCapabilities) (*performatives.Message, error) {
	return f.message(kindHandshakeRequest, to, nil, f.capabilities(own))
}

// HandshakeResponse makes the answer to a handshake_request.
func (f Factory) HandshakeResponse(to *performatives.Message, own AgentCapabilities, accepted bool) (*performatives.Message, error) {
	return f.message(kindHandshakeResponse, to.Sender(), to, struct {
		AgentCapabilities
		Accepted bool `json:"accepted"`
	}{f.capabilities(own), accepted})
}

func (f Factory) capabilities(c AgentCapabilities) AgentCapabilities {
	c.AgentID, c.Version = cmp.Or(c.AgentID, string(f.Sender)), cmp.Or(c.Version, Version)
	if c.Tools == nil {
		c.Tools = []string{}
	}
	if c.Metadata == nil {
		c.Metadata = map[string]any{}
	}
	return c
}

// Request makes a request of a tool.
func (f Factory) Request(to performatives.AgentID, r ToolRequest) (*performatives.Message, error) {
	payload := map[string]any{requestTool: r.ToolName, requestArguments: cmp.Or[any](r.Arguments, struct{}{})}
	if r.Timeout != 0 {
		payload[requestTimeout] = r.Timeout.Seconds()
	}
	return f.message(kindRequest, to, nil, payload)
}

// Response makes the answer to a request.
func (f Factory) Response(to *performatives.Message, r ToolResponse) (*performatives.Message, error) {
	payload := map[string]any{responseSuccess: r.Success, responseResult: r.Result, responseTime: r.ExecutionTime.Seconds(), responseError: nil}
	if r.Error != "" {
		payload[responseError] = r.Error
	}
	return f.message(kindResponse, to.Sender(), to, payload)
}

// Notification makes a notification. Data must marshal to a JSON object; nil is an empty one. An
// empty receiver means all agents.
func (f Factory) Notification(to performatives.AgentID, eventType string, data any) (*performatives.Message, error) {
	return f.message(kindNotification, to, nil, map[string]any{notificationEvent: eventType, notificationData: cmp.Or[any](data, struct{}{})})
}

// Error makes an error about a message.
func (f Factory) Error(about *performatives.Message, e ErrorDetails) (*performatives.Message, error) {
	e.ErrorType = cmp.Or(e.ErrorType, errorTypes[e.ErrorCode])
	return f.message(kindError, about.Sender(), about, e)
}

// message makes a message of that kind, in the conversation of about if there is one.
func (f Factory) message(kind string, to performatives.AgentID, about *performatives.Message, payload any) (*performatives.Message, error) {
	correlation := ""
	if about != nil {
		correlation = string(about.ID())
	}
	b := envelopeOf(kind, f.Codec.opts.Stamper.Stamp(), f.Sender, to, correlation, f.Priority)
	b.Value(memberNames[memPayload], payload)
	if about != nil && string(about.ConversationID()) != correlation {
		b.Open(memberNames[memMetadata])
		b.Text(metaConversation, string(about.ConversationID()))
		b.End()
	}
	out, err := b.Close()
	if err != nil {
		return nil, err
	}
	return f.Codec.Decode(out)
}
