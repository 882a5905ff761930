package performatives

import "testing"

// Both ways: what a code is written as in a dialect is read as a code that is
// written the same, and as the code itself where the word stands for no other.
func TestCodeByBothWays(t *testing.T) {
	for d := range endOfDialects {
		users := map[string][]Code{}
		for _, row := range Codes() {
			users[row.In(d)] = append(users[row.In(d)], row.Code)
		}
		for text, codes := range users {
			got, ok := CodeBy(d, text)
			switch {
			case text == "" || !ok:
				t.Errorf("dialect %d: %q of %v is not read back", d, text, codes)
			case got.Traits().In(d) != text:
				t.Errorf("dialect %d: %q is read as %s, which is written %q", d, text, got, got.Traits().In(d))
			case len(codes) == 1 && got != codes[0]:
				t.Errorf("dialect %d: %q is read as %s, want %s", d, text, got, codes[0])
			}
			_, decided := shared[word{d, text}]
			if decided != (len(codes) > 1) {
				t.Errorf("dialect %d: %q stands for %v; decided in shared: %t", d, text, codes, decided)
			}
		}
	}
}

func TestSharedWordsExist(t *testing.T) {
	for w, c := range shared {
		if got := c.Traits().In(w.dialect); got != w.text {
			t.Errorf("shared reads %q of dialect %d as %s, which is written %q", w.text, w.dialect, c, got)
		}
	}
}

func TestCodeBy(t *testing.T) {
	tests := []struct {
		dialect Dialect
		text    string
		want    Code
	}{
		{DialectRossNet, "E001", CodeUnauthorized},
		{DialectRossNet, "E002", CodeForbidden},
		{DialectRossNet, "E003", CodeInvalidPayload},
		{DialectRossNet, "E004", CodeUnknownAgent},
		{DialectRossNet, "E005", CodeIncapable},
		{DialectRossNet, "E006", CodeTimeout},
		{DialectRossNet, "E007", CodeStopped},
		{DialectRossNet, "E008", CodeInternal},
		{DialectRossNet, "E009", CodeBusy},
		{DialectRossNet, "E999", CodeFailed},
		{DialectBridge, "TOOL_NOT_FOUND", CodeIncapable},
		{DialectBridge, "EXECUTION_FAILED", CodeFailed},
		{DialectRAG, "UNKNOWN_MESSAGE_TYPE", CodeUnknownPerformative},
		{DialectRAG, "BUSY", CodeBusy},
		{DialectWire, "FORBIDDEN", CodeForbidden},
		{DialectJSONRPC, "-32700", CodeParsingError},
	}
	for _, tt := range tests {
		if got, ok := CodeBy(tt.dialect, tt.text); !ok || got != tt.want {
			t.Errorf("CodeBy(%d, %q) = %q, %t, want %q", tt.dialect, tt.text, got, ok, tt.want)
		}
	}
	for _, text := range []string{"", "E000", "e004", "teapot"} {
		if got, ok := CodeBy(DialectRossNet, text); ok {
			t.Errorf("CodeBy(rossnet, %q) = %s, want none", text, got)
		}
	}
	if got := CodeBusy.Traits().In(endOfDialects); got != "" {
		t.Errorf("In(no dialect) = %q, want nothing", got)
	}
}

// Where addenda §2 says which act a bridge error is, the code that it is read as
// has that act as its carrier.
func TestBridgeErrorsHaveTheActOfTheAddenda(t *testing.T) {
	want := map[string]Performative{
		"TOOL_NOT_FOUND": ActTaskReject, "UNAUTHORIZED": ActTaskReject,
		"INVALID_ARGUMENTS": ActNotUnderstood,
		"EXECUTION_FAILED":  ActFailure, "TIMEOUT": ActFailure, "INTERNAL_ERROR": ActFailure,
	}
	for text, act := range want {
		if c, _ := CodeBy(DialectBridge, text); c.Traits().Carrier != act {
			t.Errorf("%s is read as %s, carried by %s, want %s", text, c, c.Traits().Carrier, act)
		}
	}
}
