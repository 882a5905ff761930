package pydebug

import (
	"context"
	"testing"
)

func FuzzDiagnose(f *testing.F) {
	for _, c := range readCorpus(f) {
		f.Add(c.sections["script.py"], c.sections["traceback"])
	}
	f.Add(`x = f"{a[0]!r:>{w}}" f'''{b["k"]:{c}.2f}'''`, "IndexError: list index out of range")
	f.Add("\ufeffx\\\n=\\\r\ny[ 0 ]", "KeyError: 'a'")
	f.Add("{a:b for a,b in c if d[a] else e}", "KeyError")
	f.Add("lambda x=y[0],*a,**k:(yield x[1])", "IndexError: x")
	f.Add("async for x in y[0]: await z[1]", "IndexError: x")
	f.Fuzz(func(t *testing.T, code, traceback string) {
		if len(code) > 4096 || len(traceback) > 4096 {
			return
		}
		in := Input{Code: code, Traceback: traceback}
		d, err := Diagnose(context.Background(), in, nil)
		if err != nil {
			t.Fatal(err)
		}
		checkInvariants(t, in, d)
	})
}

// FuzzTokenize: tokens are in order and lie within the source; without a syntax
// error, their brackets match in pairs.
func FuzzTokenize(f *testing.F) {
	for _, c := range readCorpus(f) {
		f.Add(c.sections["script.py"])
	}
	f.Add(`f"{x!r:{y}}" rb'\'' 0x1e+1 1e-5 "unclosed`)
	f.Fuzz(func(t *testing.T, src string) {
		tokens, problem := tokenize(src)
		at := 0
		var open []string
		for i, tok := range tokens {
			if tok.Start < at || tok.End < tok.Start || tok.End > len(src) {
				t.Fatalf("token %d at %d:%d after %d", i, tok.Start, tok.End, at)
			}
			at = tok.End
			n := len(open)
			switch closer := closers[tok.Text]; {
			case tok.Kind != TokenOp:
			case closer != "":
				open = append(open, closer)
			case n > 0 && open[n-1] == tok.Text:
				open = open[:n-1]
			}
		}
		if problem == nil && len(open) > 0 {
			t.Fatalf("%q is not closed, without an error", open)
		}
	})
}
