/**
 * What an editor's plugin does when somebody selects code and asks for refactoring suggestions (acl §6): it sends the
 * selection to Jules over WebSocket, and shows the suggestions.
 *
 *     node editor.mjs FILE[:FIRST-LAST] [--url ws://127.0.0.1:8443/mcp] [--outcome TEXT]
 *
 * Stdout gets the suggestions, stderr the messages that go to and fro. If the node requires a token, set the
 * environment variable RIBOSOME_TOKEN. It exits with 0 when there are suggestions, 1 when there are none or nobody
 * answers, and 2 when its arguments are wrong.
 */

import { readFileSync } from "node:fs";
import { extname } from "node:path";
import { parseArgs } from "node:util";

import { Agent, RibosomeError } from "../../clients/typescript/dist/index.js"; // outside of this repository: "ribosome-client"

const LANGUAGES = { ".py": "python", ".js": "javascript", ".ts": "typescript", ".go": "go" };

const USAGE = `Usage: node editor.mjs FILE[:FIRST-LAST] [--url ws://127.0.0.1:8443/mcp] [--outcome TEXT]

Asks Jules for refactoring suggestions for a file, or for some of its lines. $RIBOSOME_TOKEN is the token, if the node requires one.`;

/** Returns the arguments, or throws an Error that says what is wrong with them. */
function parse(args) {
  const { values, positionals } = parseArgs({
    args, allowPositionals: true,
    options: {
      url: { type: "string", default: "ws://127.0.0.1:8443/mcp" },
      outcome: { type: "string", default: "improve readability and performance" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) {
    console.log(USAGE);
    process.exit(0);
  }
  if (positionals.length !== 1) throw new Error("want one file, such as report.py, or report.py:3-9 for some of its lines");
  const [, file, first, last] = /^(.*?)(?::(\d+)-(\d+))?$/s.exec(positionals[0]);
  const lines = readFileSync(file, "utf8").split(/(?<=\n)/);
  const selection = first === undefined ? lines : lines.slice(first - 1, last);
  if (selection.length === 0) throw new Error(`${file} has ${lines.length} lines, and none of ${first} to ${last}`);
  const language = LANGUAGES[extname(file)];
  if (!language) throw new Error(`${file}: want a file of one of the types ${Object.keys(LANGUAGES).join(", ")}`);
  return { ...values, language, code: selection.join("") };
}

/** Shows a message as an editor does in its log. */
function trace(direction, { performative, sender, receiver, payload }) {
  const name = (agent) => agent?.agent_id ?? agent;
  const about = payload?.task_type ?? payload?.comments ?? payload?.status_description ?? payload?.result_summary ?? payload?.reason_text ?? payload?.error_text ?? "";
  console.error(direction === "sent" ? `→ ${name(receiver)}: ${performative} ${about}` : `← ${name(sender)}: ${performative} ${about}`);
}

/** Asks Jules, and returns the result. */
function ask({ url, outcome, language, code }) {
  const token = process.env.RIBOSOME_TOKEN;
  const editor = new Agent(`vscode-plugin/${process.pid}`, { trace, ...(token && { token }) });
  const request = () => editor.delegate("Jules", "refactor_code_snippet", {
    code_snippet: code, programming_language: language, desired_outcome: outcome,
  }, {
    description: "Request for refactoring suggestions for the selected code.",
    more: { ontology: "elizaos:ontology:code/general/refactor_request" },
  });
  return editor.joined(url, request, { wait: 3_000 });
}

/** Shows the suggestions of a result. Returns how many there are. */
function show({ summary, details }) {
  const suggestions = Array.isArray(details.suggestions) ? details.suggestions : [];
  console.log(summary);
  suggestions.forEach(({ change_type: type, description, confidence, suggested_code_diff: diff }, i) => {
    console.log(`\n${i + 1}. ${type} (${Math.round(100 * confidence)} %)\n   ${description}\n\n${diff.trimEnd()}`);
  });
  return suggestions.length;
}

let options;
try {
  options = parse(process.argv.slice(2));
} catch (why) {
  console.error(`editor: ${why.message}`);
  process.exit(2);
}
try {
  process.exitCode = show(await ask(options)) > 0 ? 0 : 1;
} catch (why) {
  if (!(why instanceof RibosomeError)) throw why;
  console.error(`editor: ${why.code === "disconnected" ? `no node answers: ${why.text}; start one as the README says` : why.message}`);
  process.exitCode = 1;
}
