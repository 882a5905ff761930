package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/internal/patience"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/rag"
	"github.com/ribosome-agents/ribosome/wire/dialect/rossnet"
)

// Refusals to a peer of rag or rossnet name no act of acl: only types that the peer has written, or
// that its specification has (addenda §9).
func TestRefusalsNameNoActs(t *testing.T) {
	for _, tt := range []struct {
		dialect wire.Dialect
		types   string // of the specification
		frame   string // of a message, with its type, its receiver, its correlation and its payload
	}{
		{
			rag.Dialect{},
			"DOCUMENT_INGESTION RETRIEVAL_REQUEST RETRIEVAL_RESULT RESPONSE_REQUEST RESPONSE_RESULT ERROR_MESSAGE AGENT_REGISTRATION AGENT_STATUS",
			`{"type":%q,"sender":"Ana","receiver":%q,"trace_id":%q,"timestamp":"2025-01-30T10:31:00Z","payload":%s}`,
		},
		{
			rossnet.Dialect{},
			"TASK_ASSIGN TASK_ACKNOWLEDGE STATUS_UPDATE TASK_COMPLETE TASK_FAIL DISCOVERY_REGISTER DISCOVERY_QUERY DISCOVERY_RESPONSE DISCOVERY_ACK ERROR",
			`{"mcp_header":{"sender_id":"Ana","timestamp":"2025-01-30T10:30:00Z","version":"1.0","message_type":%q,"recipient_id":%q,"correlation_id":%q},"payload":%s}`,
		},
	} {
		t.Run(tt.dialect.Name(), func(t *testing.T) {
			h := newHub(t, runtime.PeerOptions{}, func(o *wire.Options) { o.Dialects = []wire.Dialect{tt.dialect} })
			h.spawn("Jules", func() actors.Agent { return rossNetWorker{} })
			h.spawn("Silent", func() actors.Agent { return passive{} })
			conn, err := overWS.dial(patience.Context(t), serve(t, overWS, h.server))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			context.AfterFunc(patience.Context(t), func() { _ = conn.Close() })
			own := strings.Fields(tt.types)
			kinds := slices.Concat(own, []string{"MY_TYPE"})
			for act := range p.Performatives() {
				kinds = append(kinds, act.String())
			}
			var sentKinds []string
			sent, refused, seen := 0, 0, map[string]bool{}
			for _, kind := range kinds {
				for _, to := range []string{"system", "hub", "Jules", "Silent", "Nobody", "MCP_ROUTER", "MCP_DISCOVERY", "System"} {
					for _, payload := range []string{`{}`, `7`, `{"query":"x","reference":"x","condition":"x","subtask_id":"s","task_name":"dance","input_data":{},"query_by_id":"x","proposal":1,"task_type":"x"}`} {
						sentKinds = append(sentKinds, kind)
						sent++
						marker := fmt.Sprintf("ret-marker%d-001", sent)
						// The answer to a message may come after the next message, which would take over its subtask.
						payload := strings.ReplaceAll(payload, `"subtask_id":"s"`, fmt.Sprintf(`"subtask_id":"s%d"`, sent))
						for _, frame := range []string{fmt.Sprintf(tt.frame, kind, to, fmt.Sprintf("ret-c%d-001", sent), payload), fmt.Sprintf(tt.frame, own[0], "Nobody", marker, `{}`)} {
							if err := conn.Write([]wire.Frame{{Kind: wire.KindData, Data: []byte(frame)}}); err != nil {
								t.Fatal(err)
							}
						}
						for {
							answer, err := conn.Read(func(wire.Frame) {})
							if err != nil {
								t.Fatal(err)
							}
							of := correlationOf.FindSubmatch(answer)
							for _, text := range refusalTexts(answer) {
								if refused++; of == nil {
									continue // of a marker
								}
								n, _ := strconv.Atoi(string(of[1])) // it matches digits only
								kind := sentKinds[n-1]
								for _, word := range capitals.FindAllString(text, -1) {
									if _, noAct := p.ParsePerformative(word); noAct == nil && word != kind && !slices.Contains(own, word) && !seen[text] {
										seen[text] = true
										t.Errorf("%s: %s", kind, text)
									}
								}
							}
							if strings.Contains(string(answer), marker) {
								break
							}
						}
					}
				}
			}
			if refused < sent {
				t.Errorf("only %d refusals of %d messages", refused, sent)
			}
		})
	}
}

// capitals matches the names of acts and types.
var capitals = regexp.MustCompile(`\b[A-Z][A-Z_]+\b`)

// correlationOf matches the number of a message in the correlation of its answer.
var correlationOf = regexp.MustCompile(`ret-c(\d+)-001`)

// refusalTexts returns the texts for people in a message.
func refusalTexts(frame []byte) (texts []string) {
	var m struct {
		Payload struct {
			Text      string `json:"error_message"`
			Reason    string `json:"reason"`
			Suggested string `json:"suggested_action"`
		} `json:"payload"`
	}
	_ = json.Unmarshal(frame, &m) // some payloads are no objects
	for _, text := range []string{m.Payload.Text, m.Payload.Reason, m.Payload.Suggested} {
		if text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// passive is an agent without a role.
type passive struct{}

func (passive) Describe() p.Capabilities { return p.Capabilities{Topics: []string{"silence"}} }
