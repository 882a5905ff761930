// Ribosome runs a node of agents, and talks to one from the command line.
//
//	ribosome node --swarm eddyjules --tcp 127.0.0.1:8444 --no-auth
//	ribosome agents --addr tcp://127.0.0.1:8444
//	ribosome call Jules debug_code -d @task.json --addr tcp://127.0.0.1:8444
//	ribosome send Jules REQUEST --message-type REVIEW_REQUEST -d '{"file":"a.go"}' --addr tcp://127.0.0.1:8444
//	ribosome listen --as Rubber --action explain --addr tcp://127.0.0.1:8444
//
// The exit code is 0 when the command has succeeded, 1 when it was refused, failed or was
// interrupted, and 2 for a wrong call. With 1 and 2, one line on stderr has the reason and
// an advice. docs/cli.md describes the commands, their flags and the configuration file.
package main
