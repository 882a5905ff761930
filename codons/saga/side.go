package saga

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// progress is the state of a saga. It is the content of the first event of a record: for a new
// saga it has the steps alone, for a resumed one the last state in the earlier record.
type progress struct {
	Steps   []string       `json:"steps"`             // the names of all steps
	Results map[string]any `json:"results,omitempty"` // of the steps that were done, by their names
	Failed  *failed        `json:"failed,omitempty"`  // the step that did not succeed
	Undone  []string       `json:"undone,omitempty"`
	Lost    []failed       `json:"lost,omitempty"` // the steps that could not be undone
}

// failed is a step with the text of its error, or the event that stopped it.
type failed struct {
	Step string `json:"step"`
	Text string `json:"text"`
}

func (p progress) clone() progress {
	p.Results, p.Undone, p.Lost = maps.Clone(p.Results), slices.Clone(p.Undone), slices.Clone(p.Lost)
	return p
}

// name returns the name of step i; empty in a record that does not fit its table.
func (p *progress) name(i int) string {
	if i < 1 || i > len(p.Steps) {
		return ""
	}
	return p.Steps[i-1]
}

// side is the pure side of a saga. A [run] has its jobs and timers.
type side struct {
	codons.InitiatorSide
	progress
	at machine.State // after the latest event
}

// Data returns the progress.
func (s *side) Data() any { return s.clone() }

// Ended does nothing, as a saga has no conversation actor.
func (s *side) Ended(*codons.Conversation, *performatives.Message) {}

// Timer returns [codons.Never]: the times are those of the run, and not recorded.
func (s *side) Timer(*codons.Value, string, time.Time) time.Duration { return codons.Never }

// Reduce keeps the outcome of a job, unless the saga has left the state of that job.
func (s *side) Reduce(v *codons.Value, e *codons.Input) {
	was, at := numbered(string(s.at))
	s.at = v.State()
	if begun, ok := e.Data.(progress); ok {
		s.progress = begun.clone()
		return
	}
	now, _ := numbered(string(s.at))
	verb, i := numbered(e.On.Name)
	inDo, inUndo := i == at && (was == "doing" || was == "stopping"), i == at && was == "undoing"
	text, _ := e.Data.(string)
	switch {
	case e.On == machine.Timeout(timerBound):
		s.lose(at, e.On.String())
	case now == "stopping" && was == "doing":
		s.blame(at, e.On.String())
	case verb == "done" && inDo:
		if s.Results == nil {
			s.Results = make(map[string]any)
		}
		s.Results[s.name(i)] = e.Data
	case verb == "failed", verb == "unknown": // a late one is not the first
		s.blame(i, text)
	case verb == "undone" && inUndo:
		s.Undone = append(s.Undone, s.name(i))
	case verb == "lost" && inUndo:
		s.lose(i, text)
	}
}

// blame sets the step that did not succeed. The first one stays.
func (s *side) blame(i int, text string) {
	s.Failed = cmp.Or(s.Failed, &failed{s.name(i), text})
}

func (s *side) lose(i int, text string) { s.Lost = append(s.Lost, failed{s.name(i), text}) }

// numbered returns the first word and the number of the step in the name of a state or a
// command: 0 without one.
func numbered(name string) (word string, i int) {
	word, rest, _ := strings.Cut(name, "_")
	digits, _, _ := strings.Cut(rest, "_")
	i, _ = strconv.Atoi(digits)
	return word, i
}
