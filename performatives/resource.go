package performatives

// Resource is something that an agent lets others read by its URI: a resource of the Model Context
// Protocol, in whose form it is written in all dialects. The agent answers QUERY_REF with the URI
// as the reference. The answer's value is a [ResourceContent], a text, or any other value, which is
// read as JSON.
type Resource struct {
	URI         string  `json:"uri"`
	Name        string  `json:"name"`
	Description string  `json:"description"`
	MIMEType    string  `json:"mimeType"` // such as text/markdown; empty = not known
	Extra       Members `json:"-"`
}

// ResourceContent is the content of a [Resource]: a text, or bytes if Blob is not empty.
type ResourceContent struct {
	MIMEType string `json:"mimeType,omitempty"`
	Text     string `json:"text"`
	Blob     []byte `json:"blob,omitempty"` // in JSON as base64
}
