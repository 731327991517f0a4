"""Names of the convention: attribute keys, enum values and the typed columns of the `spans` table.

Generated from semconv/model by semconv/generate.py; do not edit.
"""

from enum import StrEnum
from typing import NamedTuple

SCHEMA_URL = "https://turnlog.dev/schemas/session/0.1.0"

TURN_ID = "turnlog.turn.id"
TURN_INDEX = "turnlog.turn.index"
TURN_INPUT_HASH = "turnlog.turn.input.hash"
TURN_INPUT_SUMMARY = "turnlog.turn.input.summary"
TURN_OUTPUT_HASH = "turnlog.turn.output.hash"
TURN_OUTPUT_SUMMARY = "turnlog.turn.output.summary"
TURN_PREFIX_HASH = "turnlog.turn.prefix.hash"

COMMIT_KIND = "turnlog.commit.kind"
COMMIT_SEQUENCE = "turnlog.commit.sequence"
COMMIT_INPUT_HASH = "turnlog.commit.input.hash"
COMMIT_INPUT_SUMMARY = "turnlog.commit.input.summary"
COMMIT_OUTPUT_HASH = "turnlog.commit.output.hash"
COMMIT_OUTPUT_SUMMARY = "turnlog.commit.output.summary"
COMMIT_DELTA = "turnlog.commit.delta"
COMMIT_OUTCOME = "turnlog.commit.outcome"
COMMIT_OUTCOME_SOURCE = "turnlog.commit.outcome_source"

DECISION_ID = "turnlog.decision.id"
DECISION_ABOUT = "turnlog.decision.about"
DECISION_CHOICE = "turnlog.decision.choice"
DECISION_REASON_TEXT = "turnlog.decision.reason.text"
DECISION_REASON_SOURCE = "turnlog.decision.reason.source"
DECISION_ALTERNATIVES = "turnlog.decision.alternatives"
DECISION_CALLS = "turnlog.decision.calls"

CONTEXT_MESSAGE_COUNT = "turnlog.context.message.count"
CONTEXT_LINEAGE = "turnlog.context.lineage"
CONTEXT_HASH = "turnlog.context.hash"
CONTEXT_CHANGES = "turnlog.context.changes"
CONTEXT_EVICTED_KEYS = "turnlog.context.evicted_keys"
CONTEXT_EVICTION_REASON = "turnlog.context.eviction.reason"
CONTEXT_RESUMED_LINEAGE = "turnlog.context.resumed_lineage"

PROVENANCE_SOURCE_KIND = "turnlog.provenance.source.kind"
PROVENANCE_VERIFIED = "turnlog.provenance.verified"

TOOL_SERVER = "turnlog.tool.server"

RETRY_OF = "turnlog.retry.of"
RETRY_ATTEMPT = "turnlog.retry.attempt"

COMMIT_SELF_REPORTED = "turnlog.commit.self_reported"

REPLAY_RECORD = "turnlog.replay.record"
REPLAY_OF = "turnlog.replay.of"

LEASE_FENCES = "turnlog.lease.fences"
LEASE_EPOCH = "turnlog.lease.epoch"
LEASE_HOLDER = "turnlog.lease.holder"

MEMORY_OPERATION = "turnlog.memory.operation"
MEMORY_ITEMS = "turnlog.memory.items"

RECEIVED_CLOCK_SHIFT = "turnlog.received.clock_shift"

LIFECYCLE_STATE = "turnlog.lifecycle.state"
LIFECYCLE_PREVIOUS_STATE = "turnlog.lifecycle.previous_state"
LIFECYCLE_PAUSE_REASON = "turnlog.lifecycle.pause.reason"
LIFECYCLE_PINNED = "turnlog.lifecycle.pinned"

CHECKPOINT_ID = "turnlog.checkpoint.id"
CHECKPOINT_PARENT_ID = "turnlog.checkpoint.parent_id"
CHECKPOINT_SOURCE = "turnlog.checkpoint.source"

STATE_CHANGED_KEYS = "turnlog.state.changed_keys"
STATE_CHANGED_KEY_COUNT = "turnlog.state.changed_key.count"

FILE_ACTIONS = "turnlog.file.actions"
FILE_EVIDENCE = "turnlog.file.evidence"

CONTENT_REDACTED_COUNT = "turnlog.content.redacted.count"

SESSION_ID = "session.id"
SESSION_PREVIOUS_ID = "session.previous_id"

ERROR_TYPE = "error.type"

EXCEPTION_MESSAGE = "exception.message"

FILE_PATH = "file.path"

PROCESS_EXIT_CODE = "process.exit.code"

SERVER_ADDRESS = "server.address"
SERVER_PORT = "server.port"

SERVICE_NAME = "service.name"

GEN_AI_OPERATION_NAME = "gen_ai.operation.name"
GEN_AI_PROVIDER_NAME = "gen_ai.provider.name"
GEN_AI_CONVERSATION_ID = "gen_ai.conversation.id"
GEN_AI_CONVERSATION_COMPACTED = "gen_ai.conversation.compacted"
GEN_AI_AGENT_ID = "gen_ai.agent.id"
GEN_AI_AGENT_NAME = "gen_ai.agent.name"
GEN_AI_AGENT_DESCRIPTION = "gen_ai.agent.description"
GEN_AI_WORKFLOW_NAME = "gen_ai.workflow.name"
GEN_AI_TOOL_NAME = "gen_ai.tool.name"
GEN_AI_TOOL_TYPE = "gen_ai.tool.type"
GEN_AI_TOOL_DESCRIPTION = "gen_ai.tool.description"
GEN_AI_TOOL_CALL_ID = "gen_ai.tool.call.id"
GEN_AI_TOOL_CALL_ARGUMENTS = "gen_ai.tool.call.arguments"
GEN_AI_TOOL_CALL_RESULT = "gen_ai.tool.call.result"
GEN_AI_REQUEST_MODEL = "gen_ai.request.model"
GEN_AI_REQUEST_TEMPERATURE = "gen_ai.request.temperature"
GEN_AI_REQUEST_TOP_P = "gen_ai.request.top_p"
GEN_AI_REQUEST_MAX_TOKENS = "gen_ai.request.max_tokens"
GEN_AI_REQUEST_STREAM = "gen_ai.request.stream"
GEN_AI_REQUEST_CHOICE_COUNT = "gen_ai.request.choice.count"
GEN_AI_REQUEST_SEED = "gen_ai.request.seed"
GEN_AI_REQUEST_PREVIOUS_RESPONSE_ID = "gen_ai.request.previous_response.id"
GEN_AI_RESPONSE_ID = "gen_ai.response.id"
GEN_AI_RESPONSE_MODEL = "gen_ai.response.model"
GEN_AI_RESPONSE_FINISH_REASONS = "gen_ai.response.finish_reasons"
GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
GEN_AI_USAGE_INPUT_TOKENS = "gen_ai.usage.input_tokens"
GEN_AI_USAGE_OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS = "gen_ai.usage.cache_read.input_tokens"
GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS = "gen_ai.usage.cache_write.input_tokens"
GEN_AI_USAGE_REASONING_OUTPUT_TOKENS = "gen_ai.usage.reasoning.output_tokens"
GEN_AI_INPUT_MESSAGES = "gen_ai.input.messages"
GEN_AI_OUTPUT_MESSAGES = "gen_ai.output.messages"
GEN_AI_SYSTEM_INSTRUCTIONS = "gen_ai.system_instructions"
GEN_AI_DATA_SOURCE_ID = "gen_ai.data_source.id"
GEN_AI_PROMPT_NAME = "gen_ai.prompt.name"

MCP_METHOD_NAME = "mcp.method.name"
MCP_RESOURCE_URI = "mcp.resource.uri"


class CommitKind(StrEnum):
    """What kind of change of session state the span records. A span with this attribute is a commit."""

    TOOL = "tool"
    DECISION = "decision"
    EVICTION = "eviction"
    LIFECYCLE = "lifecycle"
    NOTE = "note"
    STATE = "state"


class Outcome(StrEnum):
    """How the operation ended."""

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    IN_FLIGHT = "in_flight"


class OutcomeSource(StrEnum):
    """How the outcome is known. Absent, it was reported."""

    REPORTED = "reported"
    INFERRED = "inferred"


class ReasonSource(StrEnum):
    """Where the reason comes from."""

    STATED = "stated"
    INFERRED = "inferred"
    NONE = "none"


class SourceKind(StrEnum):
    """Where the content that the commit is built on comes from."""

    OPERATOR = "operator"
    USER_SUPPLIED = "user_supplied"
    TOOL_OUTPUT = "tool_output"
    RETRIEVED = "retrieved"
    MODEL_GENERATED = "model_generated"


class MemoryOperation(StrEnum):
    """What was done to the items that a framework keeps of the session."""

    ADD = "add"
    POP = "pop"
    CLEAR = "clear"


class LifecycleState(StrEnum):
    """The lifecycle state that the session entered."""

    OPEN = "open"
    ACTIVE = "active"
    PAUSED = "paused"
    RESUMED = "resumed"
    CLOSED = "closed"
    ARCHIVED = "archived"


class CheckpointSource(StrEnum):
    """What the checkpoint was saved after."""

    INPUT = "input"
    STEP = "step"
    UPDATE = "update"
    FORK = "fork"


class FileEvidence(StrEnum):
    """How the file actions are known."""

    DECLARED = "declared"
    OBSERVED = "observed"
    BOTH = "both"


class GenAiOperation(StrEnum):
    """Values of `gen_ai.operation.name`."""

    CHAT = "chat"
    GENERATE_CONTENT = "generate_content"
    TEXT_COMPLETION = "text_completion"
    EMBEDDINGS = "embeddings"
    RETRIEVAL = "retrieval"
    FETCH_RESPONSE = "fetch_response"
    CREATE_AGENT = "create_agent"
    INVOKE_AGENT = "invoke_agent"
    EXECUTE_TOOL = "execute_tool"
    INVOKE_WORKFLOW = "invoke_workflow"
    PLAN = "plan"
    SEARCH_MEMORY = "search_memory"
    CREATE_MEMORY = "create_memory"
    UPDATE_MEMORY = "update_memory"
    UPSERT_MEMORY = "upsert_memory"
    DELETE_MEMORY = "delete_memory"
    CREATE_MEMORY_STORE = "create_memory_store"
    DELETE_MEMORY_STORE = "delete_memory_store"


class DeltaOp(StrEnum):
    """What happens to the entry: it gets a value, ends, or leaves the model's context."""

    SET = "set"
    DROP = "drop"
    EVICT = "evict"


class EntryKind(StrEnum):
    """What the entry is."""

    TOOL = "tool"
    FILE = "file"
    DECISION = "decision"
    PENDING = "pending"
    FACT = "fact"
    SOURCE = "source"
    MESSAGE = "message"
    RESULT = "result"
    STATE = "state"


class Tier(StrEnum):
    """Whether the entry survives compaction of the context."""

    DURABLE = "durable"
    TRANSIENT = "transient"


class Column(NamedTuple):
    """An attribute that the `spans` table holds in a column of its own, and the column's DuckDB type."""

    key: str
    name: str
    type: str


COLUMNS = (
    Column(TURN_ID, "turn_id", "VARCHAR"),
    Column(TURN_INPUT_HASH, "turn_input_hash", "VARCHAR"),
    Column(TURN_INPUT_SUMMARY, "turn_input", "VARCHAR"),
    Column(TURN_OUTPUT_SUMMARY, "turn_output", "VARCHAR"),
    Column(TURN_PREFIX_HASH, "turn_prefix_hash", "VARCHAR"),
    Column(COMMIT_KIND, "commit_kind", "VARCHAR"),
    Column(COMMIT_SEQUENCE, "commit_sequence", "BIGINT"),
    Column(COMMIT_INPUT_HASH, "input_hash", "VARCHAR"),
    Column(COMMIT_INPUT_SUMMARY, "input_summary", "VARCHAR"),
    Column(COMMIT_OUTPUT_HASH, "output_hash", "VARCHAR"),
    Column(COMMIT_OUTPUT_SUMMARY, "output_summary", "VARCHAR"),
    Column(
        COMMIT_DELTA,
        "delta",
        "STRUCT(op VARCHAR, kind VARCHAR, key VARCHAR, value VARCHAR, tier VARCHAR, action VARCHAR, evidence VARCHAR, "
        "renamed_from VARCHAR)[]",
    ),
    Column(COMMIT_OUTCOME, "outcome", "VARCHAR"),
    Column(COMMIT_OUTCOME_SOURCE, "outcome_source", "VARCHAR"),
    Column(DECISION_ID, "decision_id", "VARCHAR"),
    Column(DECISION_ABOUT, "decision_about", "VARCHAR"),
    Column(DECISION_CHOICE, "choice", "VARCHAR"),
    Column(DECISION_REASON_TEXT, "reason", "VARCHAR"),
    Column(DECISION_REASON_SOURCE, "reason_source", "VARCHAR"),
    Column(DECISION_ALTERNATIVES, "alternatives", "VARCHAR[]"),
    Column(DECISION_CALLS, "calls", "VARCHAR[]"),
    Column(CONTEXT_MESSAGE_COUNT, "message_count", "BIGINT"),
    Column(CONTEXT_LINEAGE, "lineage", "VARCHAR"),
    Column(CONTEXT_HASH, "context_hash", "VARCHAR"),
    Column(CONTEXT_CHANGES, "context_changes", "VARCHAR"),
    Column(CONTEXT_RESUMED_LINEAGE, "resumed_lineage", "VARCHAR"),
    Column(PROVENANCE_SOURCE_KIND, "source_kind", "VARCHAR"),
    Column(PROVENANCE_VERIFIED, "verified", "BOOLEAN"),
    Column(RETRY_OF, "retry_of", "VARCHAR"),
    Column(RETRY_ATTEMPT, "attempt", "BIGINT"),
    Column(COMMIT_SELF_REPORTED, "self_reported", "BOOLEAN"),
    Column(REPLAY_RECORD, "replay_record", "VARCHAR"),
    Column(REPLAY_OF, "replay_of", "VARCHAR"),
    Column(LEASE_FENCES, "lease_fences", "VARCHAR[]"),
    Column(LEASE_EPOCH, "lease_epoch", "BIGINT"),
    Column(LEASE_HOLDER, "lease_holder", "VARCHAR"),
    Column(MEMORY_OPERATION, "memory_operation", "VARCHAR"),
    Column(MEMORY_ITEMS, "memory_items", "VARCHAR[]"),
    Column(LIFECYCLE_STATE, "lifecycle_state", "VARCHAR"),
    Column(LIFECYCLE_PAUSE_REASON, "pause_reason", "VARCHAR"),
    Column(LIFECYCLE_PINNED, "pinned", "BOOLEAN"),
    Column(CHECKPOINT_ID, "checkpoint_id", "VARCHAR"),
    Column(CHECKPOINT_PARENT_ID, "checkpoint_parent", "VARCHAR"),
    Column(CHECKPOINT_SOURCE, "checkpoint_source", "VARCHAR"),
    Column(SESSION_ID, "session_id", "VARCHAR"),
    Column(SESSION_PREVIOUS_ID, "previous_session", "VARCHAR"),
    Column(ERROR_TYPE, "error_type", "VARCHAR"),
    Column(GEN_AI_OPERATION_NAME, "operation", "VARCHAR"),
    Column(GEN_AI_PROVIDER_NAME, "provider", "VARCHAR"),
    Column(GEN_AI_CONVERSATION_ID, "conversation_id", "VARCHAR"),
    Column(GEN_AI_AGENT_NAME, "agent", "VARCHAR"),
    Column(GEN_AI_TOOL_NAME, "tool", "VARCHAR"),
    Column(GEN_AI_TOOL_CALL_ID, "tool_call_id", "VARCHAR"),
    Column(GEN_AI_REQUEST_MODEL, "request_model", "VARCHAR"),
    Column(GEN_AI_RESPONSE_ID, "response_id", "VARCHAR"),
    Column(GEN_AI_RESPONSE_MODEL, "response_model", "VARCHAR"),
    Column(GEN_AI_USAGE_INPUT_TOKENS, "input_tokens", "BIGINT"),
    Column(GEN_AI_USAGE_OUTPUT_TOKENS, "output_tokens", "BIGINT"),
    Column(GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS, "cached_tokens", "BIGINT"),
    Column(GEN_AI_USAGE_REASONING_OUTPUT_TOKENS, "reasoning_tokens", "BIGINT"),
)

# Every attribute that turnlog records with its type on the wire, and the enum of those that have one.
ATTRIBUTE_TYPES = {
    TURN_ID: "string",
    TURN_INDEX: "int",
    TURN_INPUT_HASH: "string",
    TURN_INPUT_SUMMARY: "string",
    TURN_OUTPUT_HASH: "string",
    TURN_OUTPUT_SUMMARY: "string",
    TURN_PREFIX_HASH: "string",
    COMMIT_KIND: "string",
    COMMIT_SEQUENCE: "int",
    COMMIT_INPUT_HASH: "string",
    COMMIT_INPUT_SUMMARY: "string",
    COMMIT_OUTPUT_HASH: "string",
    COMMIT_OUTPUT_SUMMARY: "string",
    COMMIT_DELTA: "any",
    COMMIT_OUTCOME: "string",
    COMMIT_OUTCOME_SOURCE: "string",
    DECISION_ID: "string",
    DECISION_ABOUT: "string",
    DECISION_CHOICE: "string",
    DECISION_REASON_TEXT: "string",
    DECISION_REASON_SOURCE: "string",
    DECISION_ALTERNATIVES: "string[]",
    DECISION_CALLS: "string[]",
    CONTEXT_MESSAGE_COUNT: "int",
    CONTEXT_LINEAGE: "string",
    CONTEXT_HASH: "string",
    CONTEXT_CHANGES: "string",
    CONTEXT_EVICTED_KEYS: "string[]",
    CONTEXT_EVICTION_REASON: "string",
    CONTEXT_RESUMED_LINEAGE: "string",
    PROVENANCE_SOURCE_KIND: "string",
    PROVENANCE_VERIFIED: "boolean",
    TOOL_SERVER: "string",
    RETRY_OF: "string",
    RETRY_ATTEMPT: "int",
    COMMIT_SELF_REPORTED: "boolean",
    REPLAY_RECORD: "string",
    REPLAY_OF: "string",
    LEASE_FENCES: "string[]",
    LEASE_EPOCH: "int",
    LEASE_HOLDER: "string",
    MEMORY_OPERATION: "string",
    MEMORY_ITEMS: "string[]",
    RECEIVED_CLOCK_SHIFT: "int",
    LIFECYCLE_STATE: "string",
    LIFECYCLE_PREVIOUS_STATE: "string",
    LIFECYCLE_PAUSE_REASON: "string",
    LIFECYCLE_PINNED: "boolean",
    CHECKPOINT_ID: "string",
    CHECKPOINT_PARENT_ID: "string",
    CHECKPOINT_SOURCE: "string",
    STATE_CHANGED_KEYS: "string[]",
    STATE_CHANGED_KEY_COUNT: "int",
    FILE_ACTIONS: "string[]",
    FILE_EVIDENCE: "string",
    CONTENT_REDACTED_COUNT: "int",
    SESSION_ID: "string",
    SESSION_PREVIOUS_ID: "string",
    ERROR_TYPE: "string",
    EXCEPTION_MESSAGE: "string",
    FILE_PATH: "string",
    PROCESS_EXIT_CODE: "int",
    SERVER_ADDRESS: "string",
    SERVER_PORT: "int",
    SERVICE_NAME: "string",
    GEN_AI_OPERATION_NAME: "string",
    GEN_AI_PROVIDER_NAME: "string",
    GEN_AI_CONVERSATION_ID: "string",
    GEN_AI_CONVERSATION_COMPACTED: "boolean",
    GEN_AI_AGENT_ID: "string",
    GEN_AI_AGENT_NAME: "string",
    GEN_AI_AGENT_DESCRIPTION: "string",
    GEN_AI_WORKFLOW_NAME: "string",
    GEN_AI_TOOL_NAME: "string",
    GEN_AI_TOOL_TYPE: "string",
    GEN_AI_TOOL_DESCRIPTION: "string",
    GEN_AI_TOOL_CALL_ID: "string",
    GEN_AI_TOOL_CALL_ARGUMENTS: "any",
    GEN_AI_TOOL_CALL_RESULT: "any",
    GEN_AI_REQUEST_MODEL: "string",
    GEN_AI_REQUEST_TEMPERATURE: "double",
    GEN_AI_REQUEST_TOP_P: "double",
    GEN_AI_REQUEST_MAX_TOKENS: "int",
    GEN_AI_REQUEST_STREAM: "boolean",
    GEN_AI_REQUEST_CHOICE_COUNT: "int",
    GEN_AI_REQUEST_SEED: "int",
    GEN_AI_REQUEST_PREVIOUS_RESPONSE_ID: "string",
    GEN_AI_RESPONSE_ID: "string",
    GEN_AI_RESPONSE_MODEL: "string",
    GEN_AI_RESPONSE_FINISH_REASONS: "string[]",
    GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK: "double",
    GEN_AI_USAGE_INPUT_TOKENS: "int",
    GEN_AI_USAGE_OUTPUT_TOKENS: "int",
    GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: "int",
    GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS: "int",
    GEN_AI_USAGE_REASONING_OUTPUT_TOKENS: "int",
    GEN_AI_INPUT_MESSAGES: "any",
    GEN_AI_OUTPUT_MESSAGES: "any",
    GEN_AI_SYSTEM_INSTRUCTIONS: "any",
    GEN_AI_DATA_SOURCE_ID: "string",
    GEN_AI_PROMPT_NAME: "string",
    MCP_METHOD_NAME: "string",
    MCP_RESOURCE_URI: "string",
}
ATTRIBUTE_VALUES: dict[str, type[StrEnum]] = {
    COMMIT_KIND: CommitKind,
    COMMIT_OUTCOME: Outcome,
    COMMIT_OUTCOME_SOURCE: OutcomeSource,
    DECISION_REASON_SOURCE: ReasonSource,
    PROVENANCE_SOURCE_KIND: SourceKind,
    MEMORY_OPERATION: MemoryOperation,
    LIFECYCLE_STATE: LifecycleState,
    LIFECYCLE_PREVIOUS_STATE: LifecycleState,
    CHECKPOINT_SOURCE: CheckpointSource,
    FILE_EVIDENCE: FileEvidence,
    GEN_AI_OPERATION_NAME: GenAiOperation,
}
