"""One operation on one entry of session state: the element of a commit's delta."""

from collections.abc import Mapping
from typing import NamedTuple

from turnlog.semconv import DeltaOp, EntryKind, FileEvidence, Tier


class Change(NamedTuple):
    op: DeltaOp
    kind: EntryKind
    key: str
    value: str
    tier: Tier
    action: str = ""
    evidence: FileEvidence | None = None
    renamed_from: str = ""

    @property
    def entry(self) -> str:
        return f"{self.kind}:{self.key}"

    @classmethod
    def from_json(cls, fields: Mapping[str, str]) -> "Change":
        evidence = fields.get("evidence")
        return cls(
            DeltaOp(fields["op"]),
            EntryKind(fields["kind"]),
            fields["key"],
            fields["value"],
            Tier(fields["tier"]),
            fields.get("action", ""),
            FileEvidence(evidence) if evidence else None,
            fields.get("renamed_from", ""),
        )

    def as_json(self) -> dict[str, str]:
        fields = {"op": self.op, "kind": self.kind, "key": self.key, "value": self.value, "tier": self.tier}
        if self.action:
            fields["action"] = self.action
        if self.evidence:
            fields["evidence"] = self.evidence
        if self.renamed_from:
            fields["renamed_from"] = self.renamed_from
        return fields
