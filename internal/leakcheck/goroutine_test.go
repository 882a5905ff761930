package leakcheck

import (
	"os"
	"slices"
	"strings"
	"testing"
)

const dump = `goroutine 1 [running]:
main.main()
	/src/main.go:10 +0xdc

goroutine 18 [select, 2 minutes, synctest bubble 1]:
example.org/pkg.(*Owner).loop(0xc000010000, {0x1, 0x2})
	/src/owner.go:20 +0x1d
example.org/pkg.Run[...](...)
	/src/run.go:7
created by example.org/pkg.Start in goroutine 1
	/src/start.go:3 +0x2a

goroutine 20 [syscall]:
os/signal.signal_recv()
	/go/src/runtime/sigqueue.go:152 +0x29
os/signal.loop()
	/go/src/os/signal/signal_unix.go:23 +0x13
created by os/signal.Notify.func1.1 in goroutine 1
	/go/src/os/signal/signal.go:152 +0x1f
`

func TestParse(t *testing.T) {
	all := parse(dump)
	if len(all) != 3 {
		t.Fatalf("parse found %d goroutines, want 3", len(all))
	}
	if got, want := all[1].id, "18"; got != want {
		t.Errorf("id %q, want %q", got, want)
	}
	if got, want := all[1].calls, []string{"example.org/pkg.(*Owner).loop", "example.org/pkg.Run[...]"}; !slices.Equal(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
	if !strings.Contains(all[1].stack, "created by example.org/pkg.Start") {
		t.Errorf("the stack lost who started it:\n%s", all[1].stack)
	}
}

func TestUnexpected(t *testing.T) {
	all := parse(dump)
	if left := unexpected(all, nil); len(left) != 1 || left[0].id != "18" {
		t.Errorf("unexpected = %v, want goroutine 18 alone: 1 is the caller and 20 the signal loop", left)
	}
	if left := unexpected(all, map[string]bool{"18": true}); len(left) != 0 {
		t.Errorf("unexpected = %v, want none: 18 was there before", left)
	}
}

// A goroutine is a leak by the functions that it runs. The function that created it does not
// matter.
func TestCreatorIsIgnored(t *testing.T) {
	g, ok := parseOne("goroutine 9 [select]:\nexample.org/pkg.wait()\n\t/x.go:1\ncreated by os/signal.loop in goroutine 1\n\t/y.go:2")
	if !ok || g.standard() {
		t.Errorf("parseOne = %+v, %v, standard %v; want a goroutine that is not standard", g, ok, g.standard())
	}
}

func FuzzParse(f *testing.F) {
	f.Add(dump)
	f.Add("goroutine ")
	f.Add("goroutine 1\n(\n\n\n")
	leak := os.Getenv("LEAKCHECK_CHILD") == "leaking worker" && fuzzWorker()
	f.Fuzz(func(t *testing.T, s string) {
		if leak {
			go func() { select {} }()
		}
		for _, g := range parse(s) {
			if g.id == "" || !strings.Contains(s, g.id) {
				t.Errorf("goroutine %q is not of the dump", g.id)
			}
		}
	})
}
