package rag

import (
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

func FuzzDecode(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add([]byte(v.Message))
		f.Add([]byte(v.Message)[:len(v.Message)*2/3])
	}
	f.Add([]byte(frameOf(typeError, "A", "B", "ret-002", `{"error_code":"BUSY","error_message":"x","retry_after_ms":250}`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := open(t, func(o *wire.CodecOptions) { o.MaxBytes = 1 << 16 })
		_ = Dialect{}.Recognizes(data)
		for _, in := range c.items(string(data)) {
			if in.Err != nil {
				if !in.Err.Code.Known() || in.Err.Text == "" {
					t.Fatalf("got %#v", in.Err)
				}
				if len(in.Answer) > 0 {
					if m := accept(t, open(t), string(in.Answer)); !exchange.Refusals.Has(m.Performative()) {
						t.Fatalf("answered by %s", in.Answer)
					}
				}
				return
			}
			if in.Message == nil {
				return // a heartbeat
			}
			progress := exchange.Interim.Has(in.Message.Performative()) && in.Message.MessageType() == ""
			out, err := wiretest.Encode(t, c, in.Message)
			if err != nil {
				t.Fatalf("read and not written: %v", err)
			}
			if len(out) == 0 && progress {
				return
			}
			came, went := exact(t, data).(map[string]any), exact(t, out).(map[string]any)
			for _, m := range []map[string]any{came, went} {
				delete(m, "timestamp")  // in UTC
				delete(m, "auth_token") // of this session
			}
			if diff := cmp.Diff(came, went); diff != "" {
				t.Fatalf("-came +went:\n%s\n%s", diff, data)
			}
		}
	})
}

// A hostile message must not take much more memory than its length.
func TestDecodeAllocationIsBounded(t *testing.T) {
	const size = 1 << 20
	d := Dialect{}
	opened, err := d.Open(wire.CodecOptions{Stamper: &counter{}, MaxBytes: 2 * size})
	if err != nil {
		t.Fatal(err)
	}
	c := opened.(*codec)
	for name, text := range map[string]string{
		"unknown members": `{` + strings.Repeat(`"a":1,`, size/6),
		"nested":          `{"x":` + strings.Repeat(`[`, size),
		"long sender":     `{"sender":"` + strings.Repeat(`\n`, size/2) + `"}`,
		"metadata":        frameOf("X", "A", "B", "t", "{}", `,"metadata":{`+strings.Repeat(`"a":1,`, size/6)+`"b":1}`),
		"chunks":          frameOf(typeIngestion, "A", "B", "t", `{"document_id":"d","chunks":[`+strings.Repeat(`{},`, size/3)+`{}]}`),
		"truncated":       `{"payload":{"a":"` + strings.Repeat(`x`, size),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after goruntime.MemStats
			goruntime.ReadMemStats(&before)
			all := c.items(text)
			goruntime.ReadMemStats(&after)
			if all[0].Err == nil {
				t.Error("accepted")
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 8*size {
				t.Errorf("%d bytes allocated for %d", got, len(text))
			}
		})
	}
}
