/** An agent for the tests: worker.mjs ID URL [CA]. testdata/worker.py does the same. With BROWSER=1 it is the agent for browsers. */

import { readFileSync } from "node:fs";

const browser = "../node_modules/ribosome-client/dist/browser.js";
const { Agent, Refused, Withdrawn } = await import(process.env.BROWSER ? browser : "ribosome-client");

const [id, url, ca] = process.argv.slice(2);
const agent = new Agent(id, {
  topics: ["tests"], token: process.env.RIBOSOME_TOKEN, maxTasks: 1000, backoff: [20, 200], ...(process.env.RIBOSOME_KEYS && { seal: { keys: process.env.RIBOSOME_KEYS, pins: JSON.parse(process.env.RIBOSOME_PINS) } }),
  ...(ca && { tls: { ca: readFileSync(ca) } }),
});

agent.task("echo", "Returns its parameters.", (task) => {
  task.progress(50, "½");
  return { summary: "✓", details: task.parameters };
});

agent.task("wait", "Waits until it is withdrawn.", ({ progress, signal }) => {
  progress(undefined, "it waits");
  return new Promise((resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
});

agent.task("brief", "Ends soon.", ({ parameters, progress, signal }) => new Promise((resolve, reject) => {
  progress(0, "it begins");
  if (parameters.ms === 0) return resolve("done");
  setTimeout(() => resolve("done"), parameters.ms);
  signal.addEventListener("abort", () => reject(signal.reason));
}));

agent.task("long", "Returns a long result.", ({ parameters }) => "x".repeat(parameters.bytes));

agent.task("relay", "Delegates its parameters to another agent.", ({ parameters: p, progress, signal }) =>
  agent.delegate(p.to, p.type, p.parameters, { signal, progress: ({ percent, text }) => progress(percent, text) }));

agent.task("withdraw", "Delegates a task, and withdraws it when it has begun.", async ({ parameters: p }) => {
  let d;
  await new Promise((resolve) => { d = agent.start(p.to, p.type, {}, { progress: resolve }); });
  const receipt = await d.cancel("enough");
  try {
    await d.result();
  } catch (why) {
    if (!(why instanceof Withdrawn)) throw why;
    return { summary: why.code, details: { receipt, confirmed: why.confirmed } };
  }
  return "it has ended";
});

try {
  await agent.run(url, { lost: (why) => console.error(`not connected: ${why.message}`) });
} catch (why) {
  if (!(why instanceof Refused)) throw why;
  console.error(`refused: ${why.message}`);
  process.exit(1);
}
