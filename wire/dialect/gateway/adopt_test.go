package gateway

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// A session writes the answers to the open calls in a batch of another one, each by itself.
func TestBatchIsAdopted(t *testing.T) {
	var codecs []*codec
	for range 2 {
		codecs = append(codecs, open(t, Options{}, wire.CodecOptions{Local: "hub", Stamper: &clock{}, MaxBytes: 1 << 20}))
	}
	var asked []*performatives.Message
	call := `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"hold","arguments":{}}}`
	batch := fmt.Sprintf(`{"id":"e","timestamp":"2025-01-30T10:30:00.000Z","source":"crm","target_namespace":"Jules","mcp_payload":[`+call+`,{"jsonrpc":"2.0","id":8,"method":3},`+call+`]}`, 7, 9)
	codecs[0].Decode([]byte(batch), func(in wire.Inbound) {
		if in.Message != nil {
			asked = append(asked, in.Message)
		}
	})
	if len(asked) != 2 {
		t.Fatalf("%d messages", len(asked))
	}
	var got []string
	for i, m := range slices.Backward(asked) {
		answer, err := m.ReplyFrom("Jules", performatives.Stamp{ID: performatives.MessageID(fmt.Sprint("a", i)), Time: m.Timestamp()}, performatives.ActInformResult, performatives.InformResult{
			Status: performatives.StatusSuccess, Summary: fmt.Sprint("answer ", i),
		})
		if err != nil {
			t.Fatal(err)
		}
		text, err := wiretest.Encode(t, codecs[1-i], answer) // the later one before the batch is adopted
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(text))
		if i == 0 {
			break
		}
		requests, err := codecs[0].Requests("CRM")
		if err != nil {
			t.Fatal(err)
		}
		if err := codecs[1].Adopt(requests); err != nil {
			t.Fatal(err)
		}
	}
	if got[0] != "" {
		t.Errorf("a part of the batch is written: %s", got[0])
	}
	if !strings.Contains(got[1], `"mcp_payload":{"jsonrpc"`) || !strings.Contains(got[1], `"correlation_id":"e"`) || !strings.Contains(got[1], `answer 0`) {
		t.Errorf("the other answer is %s", got[1])
	}
	if n := codecs[1].calls.Len(); n != 0 {
		t.Errorf("%d calls are open", n)
	}
}
