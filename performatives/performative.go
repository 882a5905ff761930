package performatives

import "fmt"

// Performative is the communicative act of a message, such as REQUEST or INFORM. The
// zero value is no act and never valid in a [Message].
//
// The constants carry the prefix Act because the payload types own the bare
// names: [TaskRequest] is the content, [ActTaskRequest] the act.
type Performative uint8

// The communicative acts: first the 22 of the FIPA Communicative Act Library
// (SC00037J), then those that the five specifications add (addenda §2).
const (
	ActAcceptProposal     Performative = iota + 1 // FIPA accept-proposal
	ActAgree                                      // FIPA agree
	ActCancel                                     // FIPA cancel
	ActCFP                                        // FIPA cfp, call for proposals
	ActConfirm                                    // FIPA confirm
	ActDisconfirm                                 // FIPA disconfirm
	ActFailure                                    // FIPA failure; acl §4.6
	ActInform                                     // FIPA inform
	ActInformIf                                   // FIPA inform-if
	ActInformRef                                  // FIPA inform-ref
	ActNotUnderstood                              // FIPA not-understood; acl §4.7
	ActPropagate                                  // FIPA propagate
	ActPropose                                    // FIPA propose
	ActProxy                                      // FIPA proxy
	ActQueryIf                                    // FIPA query-if; acl §4.4
	ActQueryRef                                   // FIPA query-ref; acl §4.4
	ActRefuse                                     // FIPA refuse
	ActRejectProposal                             // FIPA reject-proposal
	ActRequest                                    // FIPA request
	ActRequestWhen                                // FIPA request-when
	ActRequestWhenever                            // FIPA request-whenever
	ActSubscribe                                  // FIPA subscribe
	ActTaskRequest                                // acl §4.1
	ActTaskAccept                                 // acl §4.2
	ActTaskReject                                 // acl §4.5
	ActStatusUpdate                               // rossnet §5.1
	ActInformResult                               // acl §4.3
	ActQueryCapabilities                          // acl §4.8
	ActInformCapabilities                         // acl §4.9

	endOfActs // one past the last act
)

// actTraits has the properties of an act that the runtime needs.
type actTraits struct {
	name         string // the name in acl: upper case, _ for -
	expectsReply bool   // its sender waits for an answer
	isReply      bool   // it always answers another message: in_reply_to is required
}

var acts = [endOfActs]actTraits{
	ActAcceptProposal:     {name: "ACCEPT_PROPOSAL", isReply: true, expectsReply: true},
	ActAgree:              {name: "AGREE", isReply: true},
	ActCancel:             {name: "CANCEL", expectsReply: true},
	ActCFP:                {name: "CFP", expectsReply: true},
	ActConfirm:            {name: "CONFIRM"},
	ActDisconfirm:         {name: "DISCONFIRM"},
	ActFailure:            {name: "FAILURE", isReply: true},
	ActInform:             {name: "INFORM"},
	ActInformIf:           {name: "INFORM_IF"},
	ActInformRef:          {name: "INFORM_REF"},
	ActNotUnderstood:      {name: "NOT_UNDERSTOOD", isReply: true},
	ActPropagate:          {name: "PROPAGATE", expectsReply: true},
	ActPropose:            {name: "PROPOSE", expectsReply: true},
	ActProxy:              {name: "PROXY", expectsReply: true},
	ActQueryIf:            {name: "QUERY_IF", expectsReply: true},
	ActQueryRef:           {name: "QUERY_REF", expectsReply: true},
	ActRefuse:             {name: "REFUSE", isReply: true},
	ActRejectProposal:     {name: "REJECT_PROPOSAL", isReply: true},
	ActRequest:            {name: "REQUEST", expectsReply: true},
	ActRequestWhen:        {name: "REQUEST_WHEN", expectsReply: true},
	ActRequestWhenever:    {name: "REQUEST_WHENEVER", expectsReply: true},
	ActSubscribe:          {name: "SUBSCRIBE", expectsReply: true},
	ActTaskRequest:        {name: "TASK_REQUEST", expectsReply: true},
	ActTaskAccept:         {name: "TASK_ACCEPT", isReply: true},
	ActTaskReject:         {name: "TASK_REJECT", isReply: true},
	ActStatusUpdate:       {name: "STATUS_UPDATE"},
	ActInformResult:       {name: "INFORM_RESULT", isReply: true},
	ActQueryCapabilities:  {name: "QUERY_CAPABILITIES", expectsReply: true},
	ActInformCapabilities: {name: "INFORM_CAPABILITIES", isReply: true},
}

var actsByName = func() map[string]Performative {
	m := make(map[string]Performative, len(acts))
	for p := range Performatives() {
		m[acts[p].name] = p
	}
	return m
}()

// Performatives yields every act, in the order of their constants.
func Performatives() func(yield func(Performative) bool) {
	return func(yield func(Performative) bool) {
		for p := Performative(1); p < endOfActs; p++ {
			if !yield(p) {
				return
			}
		}
	}
}

// ParsePerformative returns the act of that name: upper case with underscores,
// as acl writes it. An unknown name is an error with [CodeUnknownPerformative].
func ParsePerformative(name string) (Performative, error) {
	if p, ok := actsByName[name]; ok {
		return p, nil
	}
	return 0, &Refusal{Code: CodeUnknownPerformative, Field: "performative", Text: fmt.Sprintf("performative %.64q is none of the known acts", name)}
}

// Valid reports whether p is one of the constants.
func (p Performative) Valid() bool { return p > 0 && p < endOfActs }

// String returns the name as acl writes it, or "Performative(n)" for no act.
func (p Performative) String() string {
	if !p.Valid() {
		return fmt.Sprintf("Performative(%d)", uint8(p))
	}
	return acts[p].name
}

// ExpectsReply reports whether the sender of such an act waits for an answer.
// Such a message is refused to its sender when it cannot be delivered; any
// other is dead-lettered, so that refusals never answer refusals.
func (p Performative) ExpectsReply() bool { return p.Valid() && acts[p].expectsReply }

// IsReply reports whether such an act always answers another, so that a
// message without InReplyTo would be malformed.
func (p Performative) IsReply() bool { return p.Valid() && acts[p].isReply }

// MarshalText writes the name. It fails for a value that is no act.
func (p Performative) MarshalText() ([]byte, error) {
	if !p.Valid() {
		return nil, fmt.Errorf("performatives: %s has no name", p)
	}
	return []byte(acts[p].name), nil
}

// UnmarshalText reads a name as [ParsePerformative] does.
func (p *Performative) UnmarshalText(b []byte) (err error) {
	*p, err = ParsePerformative(string(b))
	return err
}
