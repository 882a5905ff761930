package rag

import (
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

func TestVocabulary(t *testing.T) {
	if !Reserves(typeRetrieval) || !Reserves("INFORM") || Reserves("X") {
		t.Error("a name is reserved, or is not")
	}
	wiretest.CheckWords(t, ErrorCodes, "UNKNOWN_MESSAGE_TYPE", "INVALID_MESSAGE", "AGENT_NOT_FOUND", "TIMEOUT", "BUSY", "UNAUTHORIZED", "RATE_LIMITED", "INTERNAL_ERROR")
	for word, want := range map[string]performatives.Code{
		"UNKNOWN_MESSAGE_TYPE": performatives.CodeUnknownPerformative,
		"BUSY":                 performatives.CodeBusy,
	} {
		if got, ok := ErrorCodes.Code(word); !ok || got != want {
			t.Errorf("%s is read as %s, want %s", word, got, want)
		}
	}
}

// The prefix of a new trace id is that of the type, whoever handles it, else that of the agent.
func TestPrefixOf(t *testing.T) {
	for _, tt := range []struct {
		kind string
		to   performatives.AgentID
		want string
	}{
		{typeRetrieved, agentResponse, prefixRetrieval},
		{typeRetrieval, agentIngestion, prefixRetrieval},
		{typeResponded, agentIngestion, prefixResponse},
		{typeIngestion, agentResponse, prefixIngestion},
		{typeError, agentResponse, prefixError},
		{"OTHER", agentResponse, prefixResponse},
		{"OTHER", agentIngestion, prefixIngestion},
		{"OTHER", "Eddy", prefixRetrieval},
	} {
		if got := prefixOf(tt.kind, tt.to); got != tt.want {
			t.Errorf("%s to %s: %s, want %s", tt.kind, tt.to, got, tt.want)
		}
	}
}
