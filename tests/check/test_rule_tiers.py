"""How sure a finding of each rule can be, and which rules there are: typed by hand."""

from __future__ import annotations

from ptxmma.check.rule_texts import rule_texts

WATCHES = ("check/rules.yaml",)
TIERS = {
    "error": """aligned-incomplete matrix-space wmma-fragment legality.gate.removed legality.gate.since
        legality.gate.target legality.gate.target_version legality.guard.type legality.operand.address
        legality.operand.count legality.operand.kind legality.operand.length legality.operand.literal
        legality.operand.component legality.operand.special legality.operand.range legality.operand.sink legality.operand.type legality.operand.vector
        legality.qualifier.combination legality.qualifier.layouts legality.qualifier.missing
        legality.qualifier.operations legality.qualifier.repeated legality.qualifier.types
        legality.qualifier.unexpected legality.qualifier.unknown legality.qualifier.value legality.syntax
        qualifier-mixed inline.input-written inline.operand-number inline.output-read inline.semicolon""",
    "error likely": """aligned-exited barrier-count barrier-stuck barrier-unpublished bulk-store-pending
        descriptor-alignment descriptor-divergent descriptor-field wmma-divergent copy-incomplete
        allocation-freed allocation-kept allocation-late inline.constraint operand-multiple matrix-alignment
        tensor-overwritten tensor-store-pending tensor-outside barrier-accessed warp-mask""",
    "likely error": "inline.guard",
    "error likely reading": """aligned-divergent barrier-uninitialised bulk-store-fence first-fence register-fence accumulator-in-flight a-written-in-flight
        accumulator-as-a a-as-accumulator proxy-fence proxy-fence-copy shared-overwritten shared-unsynchronised tensor-product-pending""",
    "error reading": "metadata-code accumulator-reshaped",
    "likely": "legality.unknown cluster-ended tensor-lanes",
    "reading": """a-read-in-flight fence-after-mma fence-after-load allocation-warp tensor-load-overwritten bulk-store-unwaited tensor-freed
        tensor-unfenced tensor-unwritten""",
    "likely reading": "warp-unsynchronised tensor-load-pending",
    "info": """aligned-unknown idle-suppression matrix-lanes redundant-fence redundant-wait repaired serialised
        legality.deprecated tensor-load-read inline.operand-unused""",
}  # fmt: skip
ORDERING = """shared-unsynchronised copy-incomplete first-fence register-fence accumulator-in-flight a-written-in-flight
    accumulator-as-a a-as-accumulator proxy-fence shared-overwritten accumulator-reshaped proxy-fence-copy
    a-read-in-flight fence-after-mma fence-after-load bulk-store-fence bulk-store-pending bulk-store-unwaited"""
CUDA = "constraint guard input-written operand-number operand-unused output-read semicolon"


def test_every_rule_has_its_tiers() -> None:
    texts = rule_texts()
    found = {name: " ".join(rule.tiers) for name, rule in texts.rules.items()}
    found |= {name: " ".join(example.tiers) for name, example in texts.ordering.items()}
    assert found == {name: tiers for tiers, names in TIERS.items() for name in names.split()}
    assert set(texts.ordering) == set(ORDERING.split())


def test_every_question_that_no_model_follows() -> None:
    switches = rule_texts().switches
    assert {n: (*s.settings, s.default, s.strict) for n, s in switches.items()} == {
        "letter": ("undefined", "harmless", "harmless", "undefined"),
        "load-registers": ("every", "true", "every", "true"),
        "freed-access": ("allowed", "undefined", "allowed", "undefined"),
        "product-fence": ("implied", "needed", "implied", "needed"),
        "thread-fences": ("implied", "needed", "implied", "needed"),
        "unwritten-columns": ("any", "fault", "any", "fault"),
        "load-read": ("ordered", "unordered", "ordered", "unordered"),
        "allocation-proxy": ("unsaid", "generic", "unsaid", "generic"),
        "register-warps": ("each", "together", "each", "together"),
        "allocating-warp": ("any", "same", "any", "same"),
        "warp-sync": ("orders", "waits", "orders", "waits"),
        "lane-arrival": ("warp", "own", "warp", "own"),
    }
    assert all(setting.machine.settled == {} for s in switches.values() for setting in s.settings.values())


def test_which_rules_are_of_cuda_sources() -> None:
    found = {name for name, rule in rule_texts().rules.items() if rule.cuda}
    assert found == {f"inline.{name}" for name in CUDA.split()}
