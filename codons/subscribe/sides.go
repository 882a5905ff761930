package subscribe

// subscriberData is what the subscriber's side keeps.
type subscriberData struct {
	Asked any `json:"asked"`
	Beats int `json:"beats"`
}

// Data returns what Reduce keeps.
func (f *subscriberSide[T]) Data() any { return subscriberData{f.InitiatorSide.Data(), f.beats} }

// Data returns the subscription, which is all that Reduce keeps.
func (s *publisherSide) Data() any { return s.subscription }
