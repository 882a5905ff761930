package machine

// Interject notes that a role seems to have said u, which the runtime has said in
// its stead: the refusal of what a full mailbox turned away, or of what an agent
// had no time for before it stopped. The other side hears it as if the role had
// said it, and the role has not moved. It is no part of any table and is not
// checked.
func (o *Monitor) Interject(u Utterance) {
	if o.blind {
		return
	}
	o.courses = o.unmoved(u)
	o.record(u)
}
