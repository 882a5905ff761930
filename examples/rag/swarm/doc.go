// Package swarm has three of the agents of the Agentic RAG specification: the IngestionAgent reads
// a folder of Markdown, text, CSV and PDF, the RetrievalAgent indexes and searches it, and the
// LLMResponseAgent answers a question from passages, by an extract or by a language model. The
// fourth agent of the specification, System, asks them: a peer that speaks the rag dialect, or a
// program, by [Ask].
//
// [New] returns the swarm for a node to host. It reads the folder once when it starts, and again
// when the IngestionAgent gets INGEST_FOLDER. The program's main function has to call [ReadPDFs]
// first: PDFs are read by a child process, which is the program itself.
//
// # Concurrency
//
// Every function may be called from any goroutine. Only the node calls the methods of the agents.
package swarm
