package performatives

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// The payloads whose size is found without reflection have the size that reflection finds.
func TestSizeWithoutReflection(t *testing.T) {
	more := Members{"a": json.RawMessage(`"b"`)}
	var read Estimate
	if err := json.Unmarshal([]byte(`"PT5M"`), &read); err != nil {
		t.Fatal(err)
	}
	for _, payload := range []any{
		Raw(`{"a":"b"}`),
		TaskRequest{},
		TaskRequest{TaskType: "t", Description: "long", Parameters: ContentOf(map[string]any{"a": []int{1, 2}}), Extra: more},
		TaskRequest{Parameters: RawContent(json.RawMessage(`{"a":1}`))},
		TaskAccept{},
		TaskAccept{TaskID: "id", Estimate: read, Comments: "later", Extra: more},
		TaskAccept{Estimate: EstimateOf(time.Hour)},
		InformResult{},
		InformResult{
			Status: StatusSuccess, Summary: "done", Details: ContentOf(struct{ Text string }{"text"}), Artifacts: []Artifact{{Content: "c"}}, Extra: more,
		},
		InformRef{Value: ContentOf("v")},
		nil,
	} {
		got, want := (&sizer{left: maxSized}).payload(payload), (&sizer{left: maxSized}).of(reflect.ValueOf(payload))
		if got != want {
			t.Errorf("%#v: %d, want %d", payload, got, want)
		}
	}
}
