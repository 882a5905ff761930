package requestid_test

import (
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/requestid"
)

func TestKey(t *testing.T) {
	m, err := performatives.New(performatives.Envelope{
		ID: "r1", Sender: "Eddy", Receiver: "jules", Timestamp: time.Unix(1, 0), Payload: performatives.TaskRequest{TaskType: "work"},
	})
	if err != nil {
		t.Fatal(err)
	}
	key := requestid.From(m)
	if key != requestid.Of("EDDY", "r1") {
		t.Error("the case of an agent's id makes another key")
	}
	for _, other := range []requestid.Key{requestid.Of("jules", "r1"), requestid.Of("eddy", "R1"), requestid.Of("", "r1"), {}} {
		if other == key {
			t.Errorf("%v is the key of another request, too", other)
		}
	}
}
