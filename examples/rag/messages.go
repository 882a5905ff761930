package main

import (
	"errors"
	"fmt"
	"time"
)

// The types of tasks. The first three are messages of the Agentic RAG specification (Message
// Types), in lower case as package rag has them. The others are this program's own (Custom Message
// Types).
const (
	taskIngestion = "document_ingestion"
	taskRetrieval = "retrieval_request"
	taskResponse  = "response_request"

	taskAnswer    = "answer_question"
	taskFolder    = "ingest_folder"
	taskDocuments = "list_documents"
	taskRemoval   = "remove_documents"
)

// The agents of the specification (Standard Agent IDs).
const (
	agentSystem    = "System"
	agentIngestion = "IngestionAgent"
	agentRetrieval = "RetrievalAgent"
	agentResponse  = "LLMResponseAgent"
)

// position says where in its document a chunk begins. Pages and lines count from 1; zero means that
// the document has none.
type position struct {
	Page    int    `json:"page,omitempty"`
	Line    int    `json:"line,omitempty"`
	Section string `json:"section,omitempty"`
}

// chunk is a piece of a document that is indexed and cited as a whole.
type chunk struct {
	ID       string   `json:"chunk_id"`
	Content  string   `json:"content"`
	Metadata position `json:"metadata"`
}

// ingestion is the payload of DOCUMENT_INGESTION: some of the chunks of a document. The first
// message of a document, with Offset 0, replaces the chunks of the document in the index.
type ingestion struct {
	ID          string    `json:"document_id"` // the path below the folder, with slashes
	Name        string    `json:"document_name"`
	Kind        string    `json:"document_type"` // md, txt, csv or pdf
	Modified    time.Time `json:"modified"`
	Fingerprint string    `json:"fingerprint"` // of the content; another one means that the document has changed
	Chunks      []chunk   `json:"chunks"`
	Offset      int       `json:"offset"` // how many chunks the earlier messages had
	Total       int       `json:"total_chunks"`
}

func (m ingestion) validate() error {
	switch {
	case m.ID == "":
		return errors.New("document_id: want the path of the document, got nothing")
	case m.Offset < 0:
		return fmt.Errorf("offset: want 0 or more, got %d", m.Offset)
	}
	for i, c := range m.Chunks {
		if c.Content == "" {
			return fmt.Errorf("chunks[%d].content: want text, got nothing", i)
		}
	}
	return nil
}

// ingested is the result of DOCUMENT_INGESTION.
type ingested struct {
	ID     string `json:"document_id"`
	Chunks int    `json:"chunks_indexed"`
}

// filters restrict a search. An empty member does not.
type filters struct {
	Kinds  []string `json:"document_types,omitempty"`
	Dates  []string `json:"date_range,omitempty"` // the first and the last day of the last change, as 2024-03-31
	Files  []string `json:"documents,omitempty"`  // paths or names
	Prefix string   `json:"path_prefix,omitempty"`
}

const (
	defaultTop = 5
	maxTop     = 100
)

// retrieval is the payload of RETRIEVAL_REQUEST.
type retrieval struct {
	Query     string  `json:"query"`
	Top       int     `json:"top_k,omitempty"` // zero means defaultTop
	Threshold float64 `json:"similarity_threshold,omitempty"`
	Filters   filters `json:"filters"`
}

func (m retrieval) validate() error {
	if m.Query == "" {
		return errors.New("query: want a question, got nothing")
	}
	if m.Top < 0 || m.Top > maxTop {
		return fmt.Errorf("top_k: want 1 to %d, got %d", maxTop, m.Top)
	}
	if m.Threshold < 0 || m.Threshold > 1 {
		return fmt.Errorf("similarity_threshold: want 0 to 1, got %g", m.Threshold)
	}
	_, err := m.Filters.days()
	return err
}

// days returns the first moment of the range of dates and the first one after it. Both are zero
// without a range.
func (f filters) days() (days [2]time.Time, err error) {
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

// hit is a chunk that fits a question.
type hit struct {
	chunk
	Similarity float64 `json:"similarity_score"` // the share of the question's terms that it has, the rare ones counting more; 0 to 1
	Score      float64 `json:"score"`            // bleve's own, by which hits are ordered
	Source     string  `json:"source_document"`
}

// retrieved is the payload of RETRIEVAL_RESULT.
type retrieved struct {
	Query    string   `json:"query"`
	Hits     []hit    `json:"retrieved_chunks"`
	Total    int      `json:"total_results"` // how many chunks have a term of the question
	Searched int      `json:"searched_chunks"`
	Missing  []string `json:"missing_terms"` // the words of the question that no searched document has
	Millis   float64  `json:"search_duration_ms"`
}

// passage is a chunk of the context of an answer. It is cited by its number in the list, from 1.
type passage struct {
	Content  string   `json:"content"`
	Source   string   `json:"source"`
	Metadata position `json:"metadata"`
}

// response is the payload of RESPONSE_REQUEST.
type response struct {
	Question string     `json:"user_query"`
	Passages []passage  `json:"context_chunks"`
	Params   generation `json:"generation_params"`
}

func (m response) validate() error {
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

// responded is the payload of RESPONSE_RESULT.
type responded struct {
	Response   string   `json:"response"`
	Sources    []string `json:"source_documents"`
	Confidence float64  `json:"confidence_score"` // 0 to 1: the share of the question's words that the cited passages have
	Tokens     int      `json:"tokens_used"`
	Millis     float64  `json:"generation_time_ms"`
	Model      string   `json:"model,omitempty"` // empty for an extract
	Cited      []int    `json:"cited_chunks"`    // numbers of context_chunks, from 1
}

// folder is the payload of the task ingest_folder.
type folder struct {
	Path string `json:"path"`
}

func (m folder) validate() error {
	if m.Path == "" {
		return errors.New("path: want a folder, got nothing")
	}
	return nil
}

// skipped is a file that could not be read.
type skipped struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

// folderReport is the result of ingest_folder.
type folderReport struct {
	Indexed   int       `json:"documents_indexed"`
	Unchanged int       `json:"documents_unchanged"`
	Removed   int       `json:"documents_removed"`
	Chunks    int       `json:"chunks_indexed"`
	Skipped   []skipped `json:"documents_skipped"`
}

// nothing is the payload of list_documents.
type nothing struct{}

func (nothing) validate() error { return nil }

// documents has the fingerprint of each document by its id: the result of list_documents.
type documents struct {
	Fingerprints map[string]string `json:"fingerprints"`
}

// removal is the payload of remove_documents.
type removal struct {
	IDs []string `json:"document_ids"`
}

func (removal) validate() error { return nil }

// question is the payload of answer_question.
type question struct {
	Folder string    `json:"folder"` // ingested before; empty for the documents that are indexed
	Ask    retrieval `json:"ask"`    // without a query the folder is only ingested
}

func (m question) validate() error {
	if m.Ask.Query == "" {
		return folder{m.Folder}.validate()
	}
	return m.Ask.validate()
}

// answer is the result of answer_question.
type answer struct {
	Folder    *folderReport `json:"folder,omitempty"`
	Retrieved *retrieved    `json:"retrieved,omitempty"`
	Response  *responded    `json:"response,omitempty"` // nil when nothing was found
}
