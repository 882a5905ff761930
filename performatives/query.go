package performatives

// QueryIf is the content of QUERY_IF, which asks whether a condition is true (acl §4.4).
type QueryIf struct {
	Condition Content `json:"condition"` // required
	Extra     Members `json:"-"`
}

// Act returns [ActQueryIf].
func (QueryIf) Act() Performative { return ActQueryIf }

// Validate checks that there is a condition.
func (q QueryIf) Validate() error {
	if err := requireContent("condition", q.Condition); err != nil {
		return err
	}
	if q.Condition.isNull() {
		return invalid("condition", "a statement", "null")
	}
	return nil
}

// InformIf is the content of INFORM_IF, the answer to QUERY_IF (addenda §2).
type InformIf struct {
	Condition Content `json:"condition"` // the condition of the query
	Truth     *bool   `json:"truth"`     // required
	Extra     Members `json:"-"`
}

// Act returns [ActInformIf].
func (InformIf) Act() Performative { return ActInformIf }

// Validate checks that the answer says true or false.
func (i InformIf) Validate() error {
	if i.Truth == nil {
		return invalid("truth", "true or false", "nothing")
	}
	return nil
}

// QueryRef is the content of QUERY_REF, which asks for the value of a reference (acl §4.4).
type QueryRef struct {
	Reference string  `json:"reference"` // required
	Extra     Members `json:"-"`
}

// Act returns [ActQueryRef].
func (QueryRef) Act() Performative { return ActQueryRef }

// Validate checks that there is a reference.
func (q QueryRef) Validate() error {
	if q.Reference == "" {
		return invalid("reference", "a non-empty string", "nothing")
	}
	return nil
}

// InformRef is the content of INFORM_REF, the answer to QUERY_REF (addenda §2).
type InformRef struct {
	Reference string  `json:"reference"` // the reference of the query
	Value     Content `json:"value"`     // required; JSON null is a value
	Extra     Members `json:"-"`
}

// Act returns [ActInformRef].
func (InformRef) Act() Performative { return ActInformRef }

// Validate checks that there is a value.
func (i InformRef) Validate() error { return requireContent("value", i.Value) }

func requireContent(field string, c Content) error {
	if c.IsZero() {
		return invalid(field, "a value", "nothing")
	}
	return nil
}
