package gateway_test

import (
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/gateway"
)

// stamper gives ids that are known beforehand.
type stamper struct{ n int }

func (s *stamper) Stamp() performatives.Stamp {
	s.n++
	return performatives.Stamp{ID: performatives.MessageID(fmt.Sprint("m-", s.n)), Time: time.Date(2024, 1, 15, 10, 30, 45, 0, time.UTC)}
}

// A call comes in as a task of a namespace, and its answer goes out under its id.
func Example() {
	dialect := gateway.New(gateway.Options{})
	stamps := &stamper{}
	codec, err := dialect.Open(wire.CodecOptions{Stamper: stamps, MaxBytes: 1 << 20, MaxPending: 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	frame := `{"id":"e-1","timestamp":"2024-01-15T10:30:45Z","source":"cli",
		"mcp_payload":{"jsonrpc":"2.0","id":9007199254740993,"method":"calc.add","params":{"a":1,"b":2}}}`
	codec.Decode([]byte(frame), func(in wire.Inbound) {
		m := in.Message
		fmt.Println(m.Performative(), "to", m.Receiver(), m.Payload().(performatives.TaskRequest).TaskType)

		answer, err := m.ReplyFrom("Calculator", stamps.Stamp(), performatives.ActInformResult, performatives.InformResult{
			Status: performatives.StatusSuccess, Details: performatives.ContentOf(map[string]int{"sum": 3}),
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		out, err := codec.Encode(nil, answer)
		fmt.Println(string(out), err)
	})
	// Output:
	// TASK_REQUEST to calc add
	// {"id":"m-2","timestamp":"2024-01-15T10:30:45.000Z","source":"Calculator","correlation_id":"e-1","mcp_payload":{"jsonrpc":"2.0","result":{"sum":3},"id":9007199254740993}} <nil>
}
