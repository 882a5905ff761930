package membership

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/cluster"
	"pgregory.net/rapid"
)

func announce(name string, t token, epoch uint64, address string) announcement {
	return announcement{token: t, member: cluster.Member{Incarnation: cluster.Incarnation{Name: name, Epoch: epoch}, Gossip: address}}
}

func testView() *view { return newView(announce("self", 1, 100, "self:1"), func() {}) }

func drain(v *view) string {
	var all []string
	for {
		e, ok := v.next()
		if !ok {
			return strings.Join(all, ", ")
		}
		all = append(all, e.String())
	}
}

func TestAdmission(t *testing.T) {
	t.Parallel()
	now := time.Time{}
	v := testView()
	v.joined(announce("a", 2, 10, "a:1"), now)
	v.joined(announce("b", 3, 10, "b:1"), now)
	v.gone("b", 3, false, now)
	v.joined(announce("c", 4, 10, "c:1"), now)
	v.gone("c", 4, true, now)
	for name, c := range map[string]struct {
		a    announcement
		want string // "" for admitted
	}{
		"a newcomer":                         {announce("d", 9, 1, "d:1"), ""},
		"a member":                           {announce("a", 2, 10, "a:1"), ""},
		"a member with a raised epoch":       {announce("a", 2, 11, "a:1"), ""},
		"a member with its earlier epoch":    {announce("a", 2, 9, "a:1"), "ended"},
		"a second of the name":               {announce("a", 9, 11, "a:2"), "taken"},
		"an older second of the name":        {announce("a", 9, 9, "a:2"), "taken"},
		"a new run at the address":           {announce("a", 9, 11, "a:1"), ""},
		"a run at the address, clock behind": {announce("a", 9, 10, "a:1"), "not later"},
		"one that failed is back":            {announce("b", 3, 10, "b:1"), ""},
		"a new run of one that failed":       {announce("b", 9, 11, "b:2"), ""},
		"the same with its clock behind":     {announce("b", 9, 10, "b:2"), "not later"},
		"one that left":                      {announce("c", 4, 10, "c:1"), "ended"},
		"a new run of one that left":         {announce("c", 9, 11, "c:2"), ""},
		"this node":                          {announce("self", 1, 100, "self:1"), ""},
		"an earlier run of this node":        {announce("self", 9, 99, "self:1"), "earlier run"},
		"a second of this node's name":       {announce("self", 9, 99, "self:2"), "taken"},
		"the same in capitals":               {announce("SELF", 9, 99, "self:2"), "taken"},
	} {
		err := v.admit(c.a)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if errors.Is(err, ErrNameTaken) != (c.want == "taken") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if refused := v.gone("a", 2, false, now); refused != "a:2" {
		t.Errorf("at the end of a, %q is to be dialled", refused)
	}
}

func TestTheOwnEpochRises(t *testing.T) {
	t.Parallel()
	history := func(name string, tok token, epoch uint64) []ended {
		return []ended{{cluster.Incarnation{Name: name, Epoch: epoch}, tok}}
	}
	v := testView()
	for _, one := range []struct {
		history []ended
		dead    bool
	}{{history("self", 9, 99), false}, {history("self", 1, 100), true}, {history("x", 9, 500), false}, {history("self", 9, 1<<64-1), false}} {
		if raised, dead := v.learn(one.history); raised || dead != one.dead {
			t.Errorf("%v: raised %t, dead %t, want %t", one.history, raised, dead, one.dead)
		}
	}
	if raised, dead := v.learn(history("x", 8, 700)); raised || dead || v.history()[0].Epoch != 700 {
		t.Errorf("x has ended again: raised %t, dead %t, known are %v", raised, dead, v.history())
	}
	v.learn(history("x", 7, 600)) // is no news
	for _, one := range []struct {
		a    announcement
		want bool
	}{{announce("x", 8, 700, "x:1"), true}, {announce("x", 9, 700, "x:1"), false}, {announce("x", 9, 701, "x:1"), true}} {
		if err := v.admit(one.a); (err == nil) != one.want {
			t.Errorf("%v of run %d: %v", one.a.member.Incarnation, one.a.token, err)
		}
	}
	if raised, dead := v.learn(history("self", 9, 100)); !raised || dead || v.current().member.Epoch != 101 {
		t.Errorf("epoch %d", v.current().member.Epoch)
	}
	if got := drain(v); got != "Raised self@101" {
		t.Error(got)
	}
	raised, err := v.meet([]known{{announce("self", 9, 200, "self:1"), true}})
	if !raised || err != nil || v.current().member.Epoch != 201 {
		t.Errorf("an earlier run at the own address: %v, %v, epoch %d", raised, err, v.current().member.Epoch)
	}
	if raised, err := v.meet([]known{{announce("self", 9, 300, "other:1"), true}}); raised || !errors.Is(err, ErrNameTaken) {
		t.Errorf("a second node: %v, %v", raised, err)
	}
	for _, k := range []known{{announce("self", 9, 400, "other:1"), false}, {announce("SELF", 9, 500, "self:1"), true}} {
		if raised, err := v.meet([]known{k}); !raised || err != nil || v.current().member.Epoch != k.member.Epoch+1 {
			t.Errorf("%+v: %v, %v, epoch %d", k, raised, err, v.current().member.Epoch)
		}
	}
	if err := v.takeConflict(); !errors.Is(err, ErrNameTaken) || v.takeConflict() != nil {
		t.Errorf("conflict: %v", err)
	}
	if err := v.admit(announce("x", 10, 500, "x:1")); err == nil {
		t.Error("x is let in with an epoch that another member knows has ended")
	}
}

// A node that begins anew is another run, and knows no member any more, but which addresses to dial.
func TestAnew(t *testing.T) {
	t.Parallel()
	v, now := testView(), time.Time{}.Add(time.Hour)
	v.joined(announce("a", 2, 10, "a:1"), now)
	v.joined(announce("b", 3, 10, "b:1"), now)
	v.gone("b", 3, true, now)
	drain(v)
	v.anew(7, now)
	if got := drain(v); got != "Raised self@101, Failed a@10" {
		t.Errorf("events %s", got)
	}
	if got := v.lost(time.Time{}); len(v.members()) != 1 || len(got) != 1 || got[0] != "a:1" || len(v.lost(now)) != 0 {
		t.Errorf("%d members, to be dialled are %q", len(v.members()), got)
	}
	if got := v.history(); len(got) != 1 || got[0].Name != "b" {
		t.Errorf("it tells that %v have ended", got)
	}
	if raised, dead := v.learn([]ended{{cluster.Incarnation{Name: "self", Epoch: 100}, 1}}); raised || dead {
		t.Errorf("the end of its former run: raised %t, dead %t", raised, dead)
	}
	if err := v.admit(announce("a", 2, 10, "a:1")); err != nil {
		t.Error(err)
	}
	v.joined(announce("a", 2, 10, "a:1"), now)
	if got := drain(v); got != "Joined a@10" {
		t.Errorf("events %s", got)
	}
}

// A member of which two runs are alive for the other side of a join, since the end of the first has
// not been detected yet.
func TestReplacedRunIsNotAdmitted(t *testing.T) {
	t.Parallel()
	first, second, moved := announce("b", 2, 1000, "b:1"), announce("b", 3, 1001, "b:1"), announce("c", 5, 7, "c:2")
	for _, all := range [][]known{
		{{first, true}, {second, true}, {announce("c", 4, 6, "c:1"), true}, {moved, true}},
		{{moved, true}, {announce("c", 4, 6, "c:1"), true}, {second, true}, {first, true}},
	} {
		v := testView()
		if raised, err := v.meet(all); raised || err != nil {
			t.Fatal(raised, err)
		}
		if err := v.admit(first); err == nil || !strings.Contains(err.Error(), "ended") {
			t.Errorf("the first run: %v", err)
		}
		if err := v.admit(second); err != nil {
			t.Errorf("the run that replaced it: %v", err)
		}
		v.joined(second, time.Time{})
		if got := drain(v); got != "Joined b@1001" {
			t.Errorf("events %s", got)
		}
		// Of two at different addresses, nobody knows here which is the later one.
		if err := v.admit(announce("c", 4, 6, "c:1")); err != nil {
			t.Errorf("at another address: %v", err)
		}
	}
}

func TestEndedIncarnationsAreBounded(t *testing.T) {
	t.Parallel()
	v := testView()
	for i := range 3 * maxEnded {
		name := fmt.Sprint("n", i)
		v.joined(announce(name, token(i+10), 1, name), time.Time{})
		if i%2 == 0 {
			v.next() // of the others, nobody is ever told
		}
		v.gone(name, token(i+10), false, time.Time{})
	}
	drain(v)
	for i := range 3 {
		name := fmt.Sprint("m", i)
		v.joined(announce(name, token(i+1<<20), 1, name), time.Time{})
		v.gone(name, token(i+1<<20), false, time.Time{})
	}
	if len(v.records) != maxEnded || len(v.due) > 3 || len(v.history()) != maxEnded || v.size() != 1 {
		t.Errorf("%d records, %d in the history, %d alive", len(v.records), len(v.history()), v.size())
	}
}

// For any changes, and a receiver of any slowness: for each name, what ends began before, with the
// same incarnation, epochs rise, and in the end the receiver knows what the view knows.
func TestEventsAreInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := testView()
		told := map[string]cluster.Member{}
		last := map[string]uint64{}
		take := func() bool {
			e, ok := v.next()
			if !ok {
				return false
			}
			m := e.Member
			known, has := told[m.Name]
			switch e.Kind {
			case Joined:
				if has || m.Epoch < last[m.Name] {
					t.Fatalf("%s after %v, epoch %d", e, known, last[m.Name])
				}
				told[m.Name], last[m.Name] = m, m.Epoch
			case Updated:
				if !has || known.Incarnation != m.Incarnation || known.Equal(m) {
					t.Fatalf("%s after %v", e, known)
				}
				told[m.Name] = m
			case Left, Failed:
				if !has || known.Incarnation != m.Incarnation {
					t.Fatalf("%s after %v", e, known)
				}
				delete(told, m.Name)
			case Raised:
				t.Fatalf("%s", e)
			}
			return true
		}
		names := rapid.SampledFrom([]string{"a", "b", "c"})
		small := rapid.Uint64Range(1, 5)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			name, tok := names.Draw(t, "name"), small.Draw(t, "token")
			a := announce(name, token(10*tok)+token(name[0])<<8, tok, fmt.Sprint(name, rapid.IntRange(0, 1).Draw(t, "port")))
			a.member.Leaving = rapid.Bool().Draw(t, "leaving")
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0, 1:
				if v.admit(a) == nil {
					v.joined(a, time.Time{})
				}
			case 2:
				if v.admit(a) == nil {
					v.updated(a, time.Time{})
				}
			case 3:
				v.gone(name, a.token, rapid.Bool().Draw(t, "left"), time.Time{})
			case 4:
				take()
			}
			if len(v.due) > 3 || v.size() != len(v.members()) || len(v.history()) != len(v.records)+1-v.size() {
				t.Fatalf("%d events wait for 3 names, %d of %d have ended, %d members", len(v.due), len(v.history()), len(v.records), v.size())
			}
		}
		for take() {
		}
		for _, m := range v.members() {
			if known, ok := told[m.Name]; m.Name != "self" && (!ok || !known.Equal(m)) {
				t.Fatalf("%+v is a member, and the receiver knows %+v", m, known)
			}
			delete(told, m.Name)
		}
		if len(told) > 0 {
			t.Fatalf("the receiver knows %v that are no members", told)
		}
	})
}
