// Ribosome runs a node of agents, and talks to one from the command line.
//
//	ribosome node --swarm eddyjules --tcp 127.0.0.1:8444 --no-auth
//	ribosome agents --addr tcp://127.0.0.1:8444
//	ribosome call Jules debug_code -d @task.json --addr tcp://127.0.0.1:8444
//	ribosome listen --as Rubber --action explain --addr tcp://127.0.0.1:8444
//
// It exits with 0 when what was asked for is done, 1 when it was refused, failed or
// cut off, and 2 when it was called wrongly. With 1 and 2, one line on stderr says why
// and what to do. docs/cli.md describes the commands, their flags and the configuration
// file.
package main
