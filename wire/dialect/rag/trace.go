package rag

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
)

// The prefixes of trace ids, which name the kind of agent (Trace ID Format).
const (
	prefixIngestion = "ing"
	prefixRetrieval = "ret"
	prefixResponse  = "llm"
	prefixError     = "err"
)

// splitTrace splits a trace id <prefix>-<conversation>-<sequence> (addenda §3b). Any other text is
// the id of a conversation of its own, with the sequence 0.
func splitTrace(trace string) (conversation performatives.ConversationID, sequence int) {
	prefix, rest, _ := strings.Cut(trace, "-")
	last := strings.LastIndexByte(rest, '-')
	digits := rest[last+1:]
	if !slices.Contains(prefixes, prefix) || last <= 0 || len(digits) < 3 || strings.Trim(digits, "0123456789") != "" {
		return performatives.ConversationID(trace), 0
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil { // too long to count on from
		n = 0
	}
	return performatives.ConversationID(rest[:last]), int(n)
}

// Conversation returns the conversation that a trace id belongs to (addenda §3b): the middle of
// <prefix>-<conversation>-<sequence>, and any other text itself.
func Conversation(trace string) performatives.ConversationID {
	conversation, _ := splitTrace(trace)
	return conversation
}

// TraceID returns the trace id with which a message came from a peer of this dialect, and "" for
// any other message.
func TraceID(m *performatives.Message) string {
	v, _ := m.Metadata(keptTrace)
	return jsonscan.Text(v)
}

var prefixes = []string{prefixIngestion, prefixRetrieval, prefixResponse, prefixError}

// belongs reports whether a message of the conversation may have the trace id.
func belongs(trace string, conversation performatives.ConversationID) bool {
	own, _ := splitTrace(trace)
	return trace != "" && (own == conversation || trace == string(conversation))
}

// typePrefixes has the prefix of the trace ids of each type of the specification.
var typePrefixes = map[string]string{
	typeError: prefixError, typeRetrieval: prefixRetrieval, typeRetrieved: prefixRetrieval, typeIngestion: prefixIngestion,
	typeResponse: prefixResponse, typeResponded: prefixResponse,
}

// prefixOf returns the prefix of a new trace id: that of the type, else that of the agent which
// handles the message.
func prefixOf(kind string, to performatives.AgentID) string {
	of := prefixRetrieval
	switch {
	case to.Is(agentResponse):
		of = prefixResponse
	case to.Is(agentIngestion):
		of = prefixIngestion
	}
	return cmp.Or(typePrefixes[kind], of)
}

// maxSequences bounds the conversations of which a session stores the sequence.
const maxSequences = 4096

// sequences has the last sequence of each conversation. When it is full, it begins again: a trace
// id that is in use is never given out twice in any case, see [writer.trace].
type sequences map[performatives.ConversationID]int

// note stores the sequence of a trace id that is in use.
func (s sequences) note(trace string) {
	if conversation, n := splitTrace(trace); n > s[conversation] {
		s.set(conversation, n)
	}
}

func (s sequences) set(conversation performatives.ConversationID, n int) {
	if _, ok := s[conversation]; !ok && len(s) >= maxSequences {
		clear(s)
	}
	s[conversation] = n
}

// next returns a new trace id.
func (s sequences) next(prefix string, conversation performatives.ConversationID) string {
	n := s[conversation] + 1
	s.set(conversation, n)
	return fmt.Sprintf("%s-%s-%03d", prefix, conversation, n)
}
