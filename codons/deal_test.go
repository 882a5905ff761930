package codons_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/codontest"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

const actRequest = p.ActRequest

// Contents of a deal.
type (
	wish  struct{ Item string }
	price struct{ Cents int }
	order struct{ ShipTo string }
	none  struct{}
)

// dealOf returns the definition of a deal: a quote with a time limit, and an order that the buyer
// does not want for longer than its patience. The opening act, the order and the payment are
// requests of three message types.
func dealOf() codons.Definition {
	const (
		quote  = p.ActPropose
		inform = p.ActInform
	)
	return codons.Definition{
		Table: machine.Table{
			Name: "deal", Title: "Deal", Purpose: "Somebody buys something.", Source: "the tests",
			Terminal: []machine.State{"paid", "declined", "lapsed", "waived"},
			Timers: []machine.Timer{
				{Role: machine.Responder, Name: "validity", Doc: "of the quote", After: 30 * time.Second},
				{Role: machine.Initiator, Name: "patience", Doc: "of the buyer", After: time.Minute},
			},
			Jobs: []machine.Job{
				{Role: machine.Responder, Name: "quote", Ends: []string{"offer"}, Doc: "finds a price"},
				{Role: machine.Responder, Name: "ship", Ends: []string{"shipped"}, Doc: "ships"},
				{Role: machine.Initiator, Name: "decide", Ends: []string{"order", "decline"}, Doc: "decides"},
			},
			Rows: []machine.Row{
				machine.Asks(machine.Idle).When(machine.Commanded(machine.CommandStart)).Goto("asked", machine.SendTagged(actRequest, "RFQ")).Because("a wish"),
				machine.Asks("asked").When(machine.Receive(quote)).Goto("deciding", machine.Run("decide")).Because("a price"),
				machine.Asks("deciding").When(machine.Commanded("order")).Goto("ordered", machine.SendTagged(actRequest, "ORDER"), machine.Arm("patience")).Because("good"),
				machine.Asks("deciding").When(machine.Commanded("decline")).Goto("declined", machine.Send(p.ActRejectProposal)).Because("bad"),
				machine.Asks("asked", "deciding", "ordered").When(machine.ReceiveTagged(inform, "LAPSED")).Goto("lapsed", machine.Stop("decide")).Because("late"),
				machine.Asks("ordered").When(machine.Timeout("patience")).Goto("waived", machine.SendTagged(inform, "WAIVED")).Because("too slow"),
				machine.Asks("ordered").When(machine.ReceiveTagged(inform, "SHIPPED")).Goto("paying", machine.SendTagged(actRequest, "PAYMENT"), machine.Disarm("patience")).Because("it comes"),
				machine.Asks("paying").When(machine.Receive(p.ActConfirm)).Goto("paid").Because("paid"),

				machine.Answers(machine.Idle).When(machine.ReceiveTagged(actRequest, "RFQ")).Goto("quoting", machine.Run("quote")).Because("a wish"),
				machine.Answers("quoting").When(machine.Commanded("offer")).Goto("quoted", machine.Send(quote), machine.Arm("validity")).Because("a price"),
				machine.Answers("quoted").When(machine.Timeout("validity")).Goto("lapsed", machine.SendTagged(inform, "LAPSED")).Because("late"),
				machine.Answers("quoted").When(machine.ReceiveTagged(actRequest, "ORDER")).Goto("shipping", machine.Disarm("validity"), machine.Run("ship")).Because("good"),
				machine.Answers("quoted").When(machine.Receive(p.ActRejectProposal)).Goto("declined").Because("bad"),
				machine.Answers("shipping").When(machine.ReceiveTagged(inform, "WAIVED")).Goto("waived", machine.Stop("ship")).Because("too slow"),
				machine.Answers("shipping").When(machine.Commanded("shipped")).Goto("shipped", machine.SendTagged(inform, "SHIPPED")).Because("it goes"),
				machine.Answers("quoted", "shipped").When(machine.ReceiveTagged(inform, "WAIVED")).Goto("waived").Because("they crossed"),
				machine.Answers("shipped").When(machine.ReceiveTagged(actRequest, "PAYMENT")).Goto("paid", machine.Send(p.ActConfirm)).Because("paid"),
			},
		},
		Messages: codons.Messages{
			"RFQ": codons.Says[wish](actRequest), "QUOTE": codons.Says[price](quote), "ORDER": codons.Says[order](actRequest), "PAYMENT": codons.Says[none](actRequest),
			"LAPSED": codons.Says[none](inform), "WAIVED": codons.Says[none](inform), "SHIPPED": codons.Says[none](inform),
		},
	}
}

// TestExploreDeal explores a table with three requests, farewells and timers, which declares
// neither pairs nor rests: the standard rows and pairs are enough.
func TestExploreDeal(t *testing.T) {
	racetest.Skip(t)
	deal := codons.MustDefine(dealOf())
	codontest.Explore(t, deal)
	codontest.Conform(t, deal)
}

// TestRetriesOfLaterRequests has a retry row for each request that waits for an answer, none where
// it is the initiator's turn, and one that stops where a row says so.
func TestRetriesOfLaterRequests(t *testing.T) {
	retried := func(alter func(*codons.Definition)) (states []machine.State) {
		d := dealOf()
		alter(&d)
		for _, r := range codons.MustDefine(d).Table.Rows {
			if r.Role == machine.Initiator && slices.Contains(r.On, machine.Timeout(machine.TimerRetry)) && !slices.Contains(r.From, standard.StateCancelling) {
				states = append(states, r.From...)
			}
		}
		slices.Sort(states)
		return states
	}
	if got, want := retried(func(*codons.Definition) {}), []machine.State{"asked", "ordered", "paying"}; !slices.Equal(got, want) {
		t.Errorf("requests are sent again in %v, want %v", got, want)
	}
	got := retried(func(d *codons.Definition) {
		d.Table.Rows[6].Do = append(d.Table.Rows[6].Do, machine.Disarm(machine.TimerRetry))
	})
	if want := []machine.State{"asked", "ordered"}; !slices.Equal(got, want) {
		t.Errorf("without the retry of a row, requests are sent again in %v, want %v", got, want)
	}
}

// TestOwnFailedPair keeps the derived pairs of a failed initiator beside one of the table's own.
func TestOwnFailedPair(t *testing.T) {
	d := dealOf()
	d.Table.Agree = []machine.Pair{{Initiator: standard.StateFailed, Responder: standard.StateFailed, Note: "ours"}}
	var ends []machine.State
	for _, p := range codons.MustDefine(d).Table.Agree {
		if p.Initiator == standard.StateFailed {
			ends = append(ends, p.Responder)
		}
	}
	for _, want := range []machine.State{standard.StateRefused, standard.StateTimedOut, "lapsed", "paid", machine.Idle} {
		if !slices.Contains(ends, want) {
			t.Errorf("beside a pair of the table's own there is none of failed and %s: %s", want, ends)
		}
	}
}

// TestErrorsOfDefine names the row and the field once, and not the consequences of the fault.
func TestErrorsOfDefine(t *testing.T) {
	for want, change := range map[string]func(*codons.Definition){
		`codons: deal: Definition.Complete says that the table has all its rows, and Definition.Table.Live is empty: remove Complete, or declare the live states and write all rows`: func(d *codons.Definition) {
			d.Complete = true
		},
		`codons: deal: Definition.Table.Rows[5] (initiator in ordered on timeout patience): the initiator never gets to ordered`: func(d *codons.Definition) {
			d.Table.Rows[2] = machine.Asks("deciding").When(machine.Commanded("order")).Goto("asked", machine.SendTagged(actRequest, "ORDER"), machine.Arm("patience"))
			d.Table.Rows[4].From = d.Table.Rows[4].From[:2]
		},
		`codons: deal: Definition.Table.Rows[14] (responder in shipping on command shipped): it would send INFORM (SHIPMENT), which no row of the initiator receives`: func(d *codons.Definition) {
			d.Table.Rows[14].Do[0] = machine.SendTagged(p.ActInform, "SHIPMENT")
		},
		`codons: deal: Definition.Table.Rows[9] (responder in quoting on command offer): timer validity is not declared: add it to Timers`: func(d *codons.Definition) {
			d.Table.Timers = d.Table.Timers[1:]
		},
		`codons: deal: Definition.Table.Timers[0] (validity of the responder): After is 0s: want the time after which it expires`: func(d *codons.Definition) {
			d.Table.Timers[0].After = 0
		},
		`codons: deal: Definition.Table.Timers: the responder has 5 timers with the standard ones, ["validity" "a" "b" "deadline" "grace"]: want at most 4`: func(d *codons.Definition) {
			for _, name := range []string{"a", "b"} {
				d.Table.Timers = append(d.Table.Timers, machine.Timer{Role: machine.Responder, Name: name, After: time.Second})
				d.Table.Rows[9].Do = append(d.Table.Rows[9].Do, machine.Arm(name))
				d.Table.Rows = append(d.Table.Rows, machine.Answers("quoted").When(machine.Timeout(name)).Stay().Because("nothing"))
			}
		},
		`codons: deal: Definition.Messages["QUOTE"]: the payload type *codons_test.price is a pointer: use codons_test.price`: func(d *codons.Definition) {
			d.Messages["QUOTE"] = codons.Says[*price](p.ActPropose)
		},
	} {
		d := dealOf()
		change(&d)
		if _, err := codons.Define(d); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// seller answers deals.
type seller interface {
	actors.Agent
	Quote(context.Context, codons.Turn[wish]) (codons.Command, error)
	Ship(context.Context, codons.Turn[order]) (codons.Command, error)
}

// shop is a seller that ships after a time.
type shop struct{ ships time.Duration }

func (shop) Describe() p.Capabilities { return p.Capabilities{} }

func (shop) Quote(context.Context, codons.Turn[wish]) (codons.Command, error) {
	return codons.Command{Name: "offer", Data: price{5}}, nil
}

func (s shop) Ship(ctx context.Context, _ codons.Turn[order]) (codons.Command, error) {
	select {
	case <-time.After(s.ships):
		return codons.Command{Name: "shipped", Data: none{}}, nil
	case <-ctx.Done():
		return codons.Command{}, context.Cause(ctx)
	}
}

// TestOwnTimers has timers of the table's own expire after their times, and after those of the role
// and of the caller.
func TestOwnTimers(t *testing.T) {
	deal := codons.MustDefine(dealOf())
	role := deal.Answer(codons.Method("quote", seller.Quote), codons.Method("ship", seller.Ship))
	for name, c := range map[string]struct {
		role          *codons.Service
		thinks, ships time.Duration
		opts          []codons.Option
		want          machine.State
	}{
		"in time":                  {role, 29 * time.Second, 59 * time.Second, nil, "paid"},
		"the quote lapses":         {role, 31 * time.Second, time.Second, nil, "lapsed"},
		"the buyer waives":         {role, time.Second, 61 * time.Second, nil, "waived"},
		"a longer quote":           {role.WithTimer("validity", time.Minute).With(codons.Times{Grace: time.Second}), 31 * time.Second, time.Second, nil, "paid"},
		"a more patient buyer":     {role, time.Second, 61 * time.Second, []codons.Option{codons.WithTimer("patience", 2*time.Minute)}, "paid"},
		"a less patient buyer":     {role, time.Second, 31 * time.Second, []codons.Option{codons.WithTimer("patience", 30*time.Second)}, "waived"},
		"no override for the role": {role, 31 * time.Second, time.Second, []codons.Option{codons.WithTimer("patience", time.Hour)}, "lapsed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := actors.NewSystem(actors.Options{Protocols: []actors.Protocol{c.role}})
				if err != nil {
					t.Fatal(err)
				}
				spawn := func(id p.AgentID, agent actors.Agent) actors.Self {
					self, err := s.Spawn(t.Context(), actors.Spec{ID: id, New: func() actors.Agent { return agent }})
					if err != nil {
						t.Fatal(err)
					}
					return self
				}
				spawn("Shop", shop{c.ships})
				buyer := spawn("Buyer", critic(nil))
				decide := codons.On("decide", func(ctx context.Context, _ codons.Turn[price]) (codons.Command, error) {
					select {
					case <-time.After(c.thinks):
						return codons.Command{Name: "order", Data: order{"Rome"}}, nil
					case <-ctx.Done():
						return codons.Command{}, context.Cause(ctx)
					}
				})
				end, err := deal.Ask(t.Context(), buyer, "Shop", wish{"bolt"}, append(c.opts, decide)...)
				if err != nil || end.State != c.want {
					t.Errorf("got %s, %v; want %s", end.State, err, c.want)
				}
				if err := s.Stop(context.Background()); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Second) // the engine has a goroutine that waits for a timer
			})
		})
	}
}

// TestOwnTimerMistakes names timers that a role does not have, and durations that no timer can
// have.
func TestOwnTimerMistakes(t *testing.T) {
	deal := codons.MustDefine(dealOf())
	role := deal.Answer(codons.Method("quote", seller.Quote), codons.Method("ship", seller.Ship))
	panicked := func(name string, d time.Duration) (err error) {
		defer func() { err, _ = recover().(error) }()
		role.WithTimer(name, d)
		return nil
	}
	check := func(name string, d time.Duration) error {
		o := codons.NewOptions(codons.WithTimer(name, d))
		return o.Check(deal)
	}
	for want, err := range map[string]error{
		`codons: deal: the responder has no timer "patience" of its own: want one of ["validity"]`: panicked("patience", time.Second),
		`codons: deal: the responder has no timer "grace" of its own: want one of ["validity"]`:    panicked("grace", time.Second),
		`codons: deal: the duration of the timer "validity": want more than zero, got 0s`:          panicked("validity", 0),
		`codons: deal: the initiator has no timer "retry" of its own: want one of ["patience"]`:    check("retry", time.Second),
		`codons: deal: the duration of the timer "patience": want more than zero, got -1s`:         check("patience", -time.Second),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// almost has one method of seller, and one that returns something else.
type almost struct{ shop }

func (almost) Ship(context.Context, codons.Turn[order]) error { return nil }

// half has one method of seller alone.
type half struct{ critic }

func (half) Quote(context.Context, codons.Turn[wish]) (codons.Command, error) {
	return codons.Command{}, nil
}

// TestNearMisses refuses agents that have methods of a role and do not play it, unless a role that
// they play has these methods.
func TestNearMisses(t *testing.T) {
	deal := codons.MustDefine(dealOf())
	role := deal.Answer(codons.Method("quote", seller.Quote), codons.Method("ship", seller.Ship))
	other := codons.MustDefine(func() codons.Definition {
		d := dealOf()
		d.Table.Name = "quote"
		d.Table.Rows = []machine.Row{
			machine.Asks(machine.Idle).When(machine.Commanded(machine.CommandStart)).Goto("asked", machine.Send(p.ActRequest)).Because("a wish"),
			machine.Asks("asked").When(machine.Receive(p.ActInform)).Goto("paid").Because("a price"),
			machine.Answers(machine.Idle).When(machine.Receive(p.ActRequest)).Goto("quoting", machine.Run("quote")).Because("a wish"),
			machine.Answers("quoting").When(machine.Commanded("offer")).Goto("paid", machine.Send(p.ActInform)).Because("a price"),
		}
		d.Table.Terminal, d.Table.Timers, d.Table.Jobs = d.Table.Terminal[:1], nil, d.Table.Jobs[:1]
		d.Messages = codons.Messages{"WISH": codons.Says[wish](p.ActRequest), "PRICE": codons.Says[price](p.ActInform)}
		return d
	}())
	type quoter interface {
		actors.Agent
		Quote(context.Context, codons.Turn[wish]) (codons.Command, error)
	}
	quotes := other.Answer(codons.Method("quote", quoter.Quote))
	for name, c := range map[string]struct {
		agent actors.Agent
		roles []actors.Protocol
		want  string
	}{
		"a method of another type": {almost{}, []actors.Protocol{role}, "has Quote and Ship of the role codons_test.seller of deal and does not play it: " +
			"its Ship is func(context.Context, codons.Turn[github.com/ribosome-agents/ribosome/codons_test.order]) error, want func("},
		"a missing method":                  {half{}, []actors.Protocol{role}, "has Quote of the role codons_test.seller of deal and does not play it: it lacks Ship"},
		"the methods of another role":       {half{}, []actors.Protocol{role, quotes}, ""},
		"the role":                          {shop{}, []actors.Protocol{role, quotes}, ""},
		"an agent with none of the methods": {critic(nil), []actors.Protocol{role}, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, err := actors.NewSystem(actors.Options{Protocols: c.roles})
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Spawn(t.Context(), actors.Spec{ID: "A", New: func() actors.Agent { return c.agent }})
			var near *actors.NearMissError
			if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &near) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: got %v, want %q", name, err, c.want)
			}
			if err := s.Stop(context.Background()); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second) // the engine has a goroutine that waits for a timer
		})
	}
}
