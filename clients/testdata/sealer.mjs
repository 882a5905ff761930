/** Seals and opens messages for the tests, one a line: sealer.mjs ID KEYS PINS. {"seal": message, "keys": statement} and {"open": message} are answered by a message or {"code": …}. */

import { createInterface } from "node:readline";
import { Sealer } from "../node_modules/ribosome-client/dist/sealed.js";

const [id, keys, pins] = process.argv.slice(2);
const sealer = await Sealer.of(id, { keys, pins: JSON.parse(pins) });
console.log(JSON.stringify({ keys: sealer.statement }));
for await (const line of createInterface({ input: process.stdin })) {
  const { seal, open, keys } = JSON.parse(line);
  try {
    console.log(JSON.stringify(seal ? await sealer.seal(seal, async () => keys) : await sealer.open(open)));
  } catch (why) {
    console.log(JSON.stringify({ code: why.code ?? "internal_error", text: why.text ?? String(why) }));
  }
}
