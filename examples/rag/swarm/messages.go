package swarm

import (
	"errors"
	"fmt"
	"time"
)

// The types of tasks. The first three are messages of the Agentic RAG specification (Message
// Types), in lower case as package rag has them. The last one is the swarm's own (Custom Message
// Types).
const (
	taskIngestion = "document_ingestion"
	taskRetrieval = "retrieval_request"
	taskResponse  = "response_request"
	taskFolder    = "ingest_folder"
)

// Position says where in its document a chunk begins. Pages and lines count from 1; zero means that
// the document has none.
type Position struct {
	Page    int    `json:"page,omitempty"`
	Line    int    `json:"line,omitempty"`
	Section string `json:"section,omitempty"` // the headings above
}

// Chunk is a piece of a document that is indexed and cited as a whole.
type Chunk struct {
	ID       string   `json:"chunk_id"`
	Content  string   `json:"content"`
	Metadata Position `json:"metadata"`
}

// ingestion is the payload of DOCUMENT_INGESTION: some of the chunks of a document. The first
// message of a document, with Offset 0, replaces its chunks in the index; one without chunks
// removes the document.
type ingestion struct {
	ID       string    `json:"document_id"`
	Name     string    `json:"document_name"` // the path below the folder, with slashes
	Kind     string    `json:"document_type"` // md, txt, csv or pdf; empty for the ending of the name
	Modified time.Time `json:"modified,omitzero"`
	Chunks   []Chunk   `json:"chunks"`
	Offset   int       `json:"offset"` // how many chunks the earlier messages had
	Total    int       `json:"total_chunks"`
}

// Validate returns an error for a document without an id, or a chunk without text.
func (m ingestion) Validate() error {
	if m.ID == "" {
		return errors.New("document_id: want the id of a document, got nothing")
	}
	for i, c := range m.Chunks {
		if c.Content == "" {
			return fmt.Errorf("chunks[%d].content: want text, got nothing", i)
		}
	}
	return nil
}

// Filters restrict a search. An empty member does not.
type Filters struct {
	Kinds  []string `json:"document_types,omitempty"`
	Dates  []string `json:"date_range,omitempty"` // the first and the last day of the last change, as 2024-03-31
	Files  []string `json:"documents,omitempty"`  // paths or names
	Prefix string   `json:"path_prefix,omitempty"`
}

// How many passages a [Query] finds.
const (
	DefaultTop = 5
	MaxTop     = 100
)

// Query is the payload of RETRIEVAL_REQUEST: a question, and which passages are wanted.
type Query struct {
	Text      string  `json:"query"`
	Top       int     `json:"top_k,omitempty"`                // zero means DefaultTop
	Threshold float64 `json:"similarity_threshold,omitempty"` // the least similarity
	Filters   Filters `json:"filters"`
}

// Validate returns an error for a query without a question, or with a value out of its range.
func (q Query) Validate() error {
	if q.Text == "" {
		return errors.New("query: want a question, got nothing")
	}
	if q.Top < 0 || q.Top > MaxTop {
		return fmt.Errorf("top_k: want 1 to %d, got %d", MaxTop, q.Top)
	}
	if q.Threshold < 0 || q.Threshold > 1 {
		return fmt.Errorf("similarity_threshold: want 0 to 1, got %g", q.Threshold)
	}
	_, err := q.Filters.days()
	return err
}

// days returns the first moment of the range of dates and the first one after it. Both are zero
// without a range.
func (f Filters) days() (days [2]time.Time, err error) {
	if len(f.Dates) == 0 {
		return days, nil
	}
	if len(f.Dates) != 2 {
		return days, fmt.Errorf("filters.date_range: want two dates, got %d", len(f.Dates))
	}
	for i, text := range f.Dates {
		if days[i], err = time.Parse(time.DateOnly, text); err != nil {
			return days, fmt.Errorf("filters.date_range[%d]: want a date such as 2024-03-31, got %q", i, text)
		}
	}
	days[1] = days[1].AddDate(0, 0, 1)
	return days, nil
}

// Hit is a chunk that fits a question.
type Hit struct {
	Chunk

	Similarity float64 `json:"similarity_score"` // the share of the question's terms that it has, the rare ones counting more; 0 to 1
	Score      float64 `json:"score"`            // BM25, by which hits are ordered
	Source     string  `json:"source_document"`
}

// Retrieved is the payload of RETRIEVAL_RESULT.
type Retrieved struct {
	Query    string   `json:"query"`
	Hits     []Hit    `json:"retrieved_chunks"`
	Total    int      `json:"total_results"` // how many chunks have a term of the question
	Searched int      `json:"searched_chunks"`
	Missing  []string `json:"missing_terms"` // the words of the question that no searched document has
	Millis   float64  `json:"search_duration_ms"`
}

// Passage is a chunk of the context of an answer. It is cited by its number in the list, from 1.
type Passage struct {
	Content  string   `json:"content"`
	Source   string   `json:"source"`
	Metadata Position `json:"metadata"`
}

// response is the payload of RESPONSE_REQUEST.
type response struct {
	Question string     `json:"user_query"`
	Passages []Passage  `json:"context_chunks"`
	Params   generation `json:"generation_params"`
}

// Validate returns an error without a question.
func (m response) Validate() error {
	if m.Question == "" {
		return errors.New("user_query: want a question, got nothing")
	}
	return nil
}

// generation are the wishes for an answer by a language model. Zero means that of the program or of
// the endpoint.
type generation struct {
	Model       string   `json:"model,omitempty"`
	MaxTokens   int      `json:"max_tokens,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
}

// Responded is the payload of RESPONSE_RESULT.
type Responded struct {
	Response   string   `json:"response"`
	Sources    []string `json:"source_documents"`
	Confidence float64  `json:"confidence_score"` // 0 to 1: the share of the question's words that the cited passages have
	Tokens     int      `json:"tokens_used"`
	Millis     float64  `json:"generation_time_ms"`
	Model      string   `json:"model,omitempty"` // empty for an extract
	Cited      []int    `json:"cited_chunks"`    // numbers of context_chunks, from 1
}

// Answer is the result of a question: the passages that were found, and the answer from them.
type Answer struct {
	Retrieved
	Responded
}

// nothing is the payload of INGEST_FOLDER.
type nothing struct{}

// Validate returns nil.
func (nothing) Validate() error { return nil }

// Skipped is a file that could not be read.
type Skipped struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

// Report is the result of INGEST_FOLDER.
type Report struct {
	Documents int       `json:"documents_indexed"`
	Chunks    int       `json:"chunks_indexed"`
	Removed   int       `json:"documents_removed"`
	Skipped   []Skipped `json:"documents_skipped"`
}
