package telemetry

// scope names the instrumentation scope of all metrics and spans.
const scope = "github.com/ribosome-agents/ribosome/runtime/observe/telemetry"

// The names of the metrics of a program that exports by OTLP, such as ribosome node.
const (
	MetricSpansEnded    = "ribosome.telemetry.spans.ended"
	MetricSpansExported = "ribosome.telemetry.spans.exported"
	MetricExportsFailed = "ribosome.telemetry.metrics.failed"
)

// The names of the attributes. Those that begin with gen_ai, and error.type, are of the semantic
// conventions for generative AI.
const (
	attrProtocol  = "ribosome.protocol"
	attrRole      = "ribosome.role"
	attrState     = "ribosome.state"
	attrCode      = "ribosome.code"
	attrJob       = "ribosome.job"
	attrBand      = "ribosome.band"
	attrLocation  = "ribosome.location"
	attrPeer      = "ribosome.peer"
	attrErrorType = "error.type"

	attrOperation    = "gen_ai.operation.name"
	attrAgent        = "gen_ai.agent.name"
	attrTool         = "gen_ai.tool.name"
	attrConversation = "gen_ai.conversation.id"

	operationAgent = "invoke_agent"
	operationTool  = "execute_tool"
)

// other stands for what would have made an attribute unbounded.
const other = "other"
