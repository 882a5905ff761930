package performatives_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestEstimateReads(t *testing.T) {
	const day = 24 * time.Hour
	tests := map[string]time.Duration{
		`300`: 5 * time.Minute, `1.5`: 1500 * time.Millisecond, `0`: 0, `3e2`: 5 * time.Minute, `"300"`: 5 * time.Minute,
		`"PT5M"`: 5 * time.Minute, `"P1D"`: day, `"P1W"`: 7 * day, `"P1Y2M"`: 425 * day,
		`"P1DT2H3M4.5S"`: 26*time.Hour + 3*time.Minute + 4500*time.Millisecond, `"PT0,5S"`: time.Second / 2, `"PT0S"`: 0,
	}
	for text, want := range tests {
		var e p.Estimate
		if err := json.Unmarshal([]byte(text), &e); err != nil || e.Duration() != want || e.IsZero() {
			t.Errorf("%s = %s, %v, zero %t; want %s", text, e.Duration(), err, e.IsZero(), want)
		}
		if b, err := json.Marshal(e); err != nil || string(b) != text {
			t.Errorf("%s is written %s, %v", text, b, err)
		}
	}
	for _, text := range []string{`null`, `""`} {
		e := p.EstimateOf(time.Hour)
		if err := json.Unmarshal([]byte(text), &e); err != nil || !e.IsZero() {
			t.Errorf("%s = %s, %v; want none", text, e.Duration(), err)
		}
	}
}

func TestEstimateRefuses(t *testing.T) {
	for _, text := range []string{
		`-1`, `1e400`, `1e20`, `true`, `[]`, `{}`, `"P"`, `"PT"`, `"P1DT"`, `"5M"`, `"PT5"`, `"P5H"`, `"-PT5M"`, `"pt5m"`,
		`"soon"`, `"P101Y"`, `"+3"`, `" 3"`, `"99999999999999999999"`, `"PT1.S"`, `"P1M1Y"`,
	} {
		var e p.Estimate
		if err := json.Unmarshal([]byte(text), &e); err == nil || !e.IsZero() {
			t.Errorf("%s is read as %s", text, e.Duration())
		}
	}
}

func TestEstimateOf(t *testing.T) {
	century := 100 * 365 * 24 * time.Hour
	tests := map[time.Duration]string{
		0: "0", 1: "1", time.Second: "1", time.Second + 1: "2", -time.Hour: "0",
		century: "3153600000", math.MaxInt64: "3153600000", century - 1: "3153600000",
		2_000_000_000*time.Second + 1: "2000000001",
	}
	for d, want := range tests {
		if b, err := p.EstimateOf(d).MarshalJSON(); err != nil || string(b) != want {
			t.Errorf("EstimateOf(%d) is written %s, %v; want %s", d, b, err, want)
		}
	}
}

func TestEstimateEqual(t *testing.T) {
	read := func(s string) (e p.Estimate) {
		if err := json.Unmarshal([]byte(s), &e); err != nil {
			t.Fatal(err)
		}
		return e
	}
	if !read(`300`).Equal(read(`"PT5M"`)) || !p.EstimateOf(5*time.Minute).Equal(read(`300`)) {
		t.Error("the same length of time is not equal")
	}
	if read(`0`).Equal(p.Estimate{}) || read(`1`).Equal(read(`2`)) {
		t.Error("no estimate equals no time, or one equals two")
	}
}

// What is written here can be read back, rounded up to the second.
func TestEstimateIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		made := p.EstimateOf(time.Duration(rapid.Int64().Draw(t, "d")))
		b, err := json.Marshal(made)
		if err != nil {
			t.Fatal(err)
		}
		var got p.Estimate
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if over := got.Duration() - made.Duration(); over < 0 || over >= time.Second {
			t.Fatalf("%s became %s", made.Duration(), got.Duration())
		}
	})
}

func FuzzEstimate(f *testing.F) {
	for _, seed := range []string{`300`, `"PT5M"`, `"P1Y2M3W4DT5H6M7.8S"`, `""`, `null`, `1e9`, `"300"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var e, again p.Estimate
		if json.Unmarshal(b, &e) != nil {
			return
		}
		if e.Duration() < 0 || e.Duration() > 100*365*24*time.Hour {
			t.Fatalf("%s = %s", b, e.Duration())
		}
		out, err := json.Marshal(e)
		if err != nil || json.Unmarshal(out, &again) != nil {
			t.Fatalf("%s is written %s: %v", b, out, err)
		}
		if !e.IsZero() && !again.Equal(e) {
			t.Fatalf("%s became %s", b, out)
		}
	})
}
