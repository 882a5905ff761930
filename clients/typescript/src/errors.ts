/** The base of all errors of this package. code is one of the node's codes in lower case, such as "busy"; text is for people. */
export class RibosomeError extends Error {
  constructor(readonly code: string, readonly text = "") {
    super(text ? `${code}: ${text}` : code);
    this.name = new.target.name;
  }
}

/** A task that was not performed: the answer was TASK_REJECT, NOT_UNDERSTOOD or REFUSE. A task's function throws it to reject the task. */
export class Rejected extends RibosomeError {}

/** A task that was begun and could not be done. A task's function throws it to choose the code and the text that the asker gets. */
export class Failed extends RibosomeError {}

/** A delegation that was withdrawn. confirmed says whether the worker has sent the receipt: its work has stopped. */
export class Withdrawn extends RibosomeError {
  constructor(readonly confirmed: boolean, text = "") {
    super("canceled", text);
  }
}

/** A delegation without an answer before its deadline. */
export class TimedOut extends RibosomeError {
  constructor(text: string) {
    super("timeout", text);
  }
}

/** There is no connection to the node, or it was lost before the answer. Whether the work was done is not known. */
export class Disconnected extends RibosomeError {
  constructor(text: string) {
    super("disconnected", text);
  }
}

/** The node does not want the agent. The agent does not connect again after the codes "unauthorized" and "forbidden". */
export class Refused extends RibosomeError {}

/** The peer's message is not what the protocol says. The text names the member. */
export class Malformed extends RibosomeError {
  constructor(text: string) {
    super("invalid_payload_structure", text);
  }
}
