package actors

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// takenOnBy has a new agent "a" take on requests of "x", and returns the reservation of its id
// after it has stopped.
func takenOnBy(t *testing.T, ids ...string) (*System, *Reservation) {
	t.Helper()
	s, err := NewSystem(Options{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := s.Reserve("a")
	if err != nil {
		t.Fatal(err)
	}
	self, err := v.Spawn(t.Context(), Spec{ID: "a", New: func() Agent { return silent{} }})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if err := self.TakeOn(recordedMessage(t, "c", id, performatives.Normal), time.Minute); err != nil {
			t.Fatalf("%.20s: %v", id, err)
		}
	}
	self.ForgetRequest(recordedMessage(t, "c", "forgotten", performatives.Normal))
	if v, _, err = s.Retire(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	return s, v
}

func idsOf(all []TakenOn) (ids []performatives.MessageID) {
	for _, one := range all {
		ids = append(ids, one.ID)
	}
	return ids
}

// What goes along with an agent is bounded by the memory that it takes, with the ids in it.
func TestTakenOnIsWeighed(t *testing.T) {
	for _, one := range []TakenOn{{Sender: "x", ID: performatives.MessageID(strings.Repeat("i", 935)), Until: time.Unix(1, 0)}, {Sender: performatives.AgentID(strings.Repeat("x", 935)), ID: "i", Until: time.Unix(1, 0)}} {
		var all takenOn
		for range 200 {
			all.add(one, time.Time{})
		}
		if want := MaxTakenOn / 1000; len(all.all) != want || all.weight != want*1000 {
			t.Errorf("%d of 1000 bytes each are kept, with %d bytes, want %d", len(all.all), all.weight, want)
		}
	}
}

// An agent that has moved does not take on what it has taken on before, and a request that it has
// turned down goes along with no one.
func TestTakenOnElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, v := takenOnBy(t, "1", "forgotten", "2")
		all := v.TakenOn()
		if got := idsOf(all); !slices.Equal(got, []performatives.MessageID{"1", "2"}) || all[0].Sender != "x" || time.Until(all[0].Until) != time.Minute {
			t.Errorf("got %+v", all)
		}
		to, next := takenOnBy(t, "3")
		next.TakeOn(append(all, TakenOn{"X", "old", time.Now()}, TakenOn{"X", "long", time.Now().Add(100 * time.Hour)}))
		self, err := next.Spawn(t.Context(), Spec{ID: "a", New: func() Agent { return silent{} }})
		if err != nil {
			t.Fatal(err)
		}
		for id, taken := range map[string]bool{"1": true, "2": true, "3": true, "long": true, "old": false, "forgotten": false} {
			if err := self.TakeOn(recordedMessage(t, "c", id, performatives.Normal), time.Minute); (err != nil) != taken {
				t.Errorf("%s: %v", id, err)
			}
		}
		if next, _, err = to.Retire(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if got := idsOf(next.TakenOn()); len(got) != 6 || !slices.Equal(got[:4], []performatives.MessageID{"3", "1", "2", "long"}) {
			t.Errorf("at the next move %q", got)
		}
		time.Sleep(time.Minute) // of the simulation
		if got := next.TakenOn(); len(got) != 1 || got[0].ID != "long" || time.Until(got[0].Until) > MaxRequestAge {
			t.Errorf("in a minute %+v", got)
		}
		for _, s := range []*System{from, to} {
			if err := s.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// What goes along with an agent is bounded in bytes: the latest requests.
func TestTakenOnIsBounded(t *testing.T) {
	var ids []string
	for i := range 1200 {
		ids = append(ids, fmt.Sprintf("%04d%s", i, strings.Repeat("x", 250)))
	}
	s, v := takenOnBy(t, ids...)
	defer func() {
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	check := func(all []TakenOn) {
		t.Helper()
		weight := 0
		for _, one := range all {
			weight += one.weight()
		}
		if last := all[len(all)-1].ID; weight > MaxTakenOn || weight < MaxTakenOn-2<<10 || string(last) != ids[len(ids)-1] {
			t.Errorf("%d requests of %d bytes, the last is %.4s", len(all), weight, last)
		}
	}
	check(v.TakenOn())
	other, next := takenOnBy(t)
	defer func() {
		if err := other.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	var all []TakenOn
	for _, id := range ids {
		all = append(all, TakenOn{"x", performatives.MessageID(id), time.Now().Add(time.Minute)})
	}
	next.TakeOn(all)
	check(next.TakenOn())
}
