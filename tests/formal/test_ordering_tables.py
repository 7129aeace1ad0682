"""What each rule and each switch of the ordering rules says, typed by hand from 9.7.15.4 and 9.7.15.7."""

from __future__ import annotations

from ptxmma.spec.ordering import ordering

WATCHES = ("spec/ordering/rules.yaml", "spec/ordering/switches.yaml")

# By switch: its settings, the default, and the one that allows least.
SWITCHES = {
    "same-shape": ("m-n m-n-k types", "m-n-k", "types"),
    "accumulator-chain": ("excepted wait", "excepted", "wait"),
    "a-read-twice": ("free fence", "free", "fence"),
    "completed-mma": ("fence free", "fence", "fence"),
    "reshaped-accumulator": ("wait fence", "wait", "wait"),
    "empty-groups": ("count skip", "count", "skip"),
    "proxy-fence-side": ("writer either", "writer", "writer"),
    "completion-fence": ("reads results", "reads", "results"),
    "read-before-copy": ("free fence", "free", "fence"),
    "wait-scope": ("warp warpgroup", "warp", "warp"),
    "unwaited-store": ("free must", "free", "must"),
}
# What a setting settles of the machine; every other one settles nothing.
MACHINE = {
    "same-shape=m-n": {"same_shape": ("n",)},
    "same-shape=m-n-k": {"same_shape": ("n", "k")},
    "same-shape=types": {"same_shape": ("n", "k", "types")},
    "reshaped-accumulator=wait": {"fence_orders_shapes": False},
    "reshaped-accumulator=fence": {"fence_orders_shapes": True},
    "empty-groups=count": {"empty_groups_count": True},
    "empty-groups=skip": {"empty_groups_count": False},
    "proxy-fence-side=writer": {"proxy_fence_covers_all": False},
    "proxy-fence-side=either": {"proxy_fence_covers_all": True},
    "wait-scope=warp": {"wait_covers_all": False},
    "wait-scope=warpgroup": {"wait_covers_all": True},
    "unwaited-store=free": {"block_lasts": True},
    "unwaited-store=must": {"block_lasts": False},
}
# The rules on the text alone, with the settings under which each applies; all others are about values, and apply
# always but for those of VALUES.
TEXT = {
    "a-read-in-flight": {},
    "fence-after-mma": {"completed-mma": "fence"},
    "a-read-twice": {"a-read-twice": "fence"},
    "chain-unwaited": {"accumulator-chain": "wait"},
    "fence-after-completion": {"completion-fence": "results"},
    "fence-after-load": {"read-before-copy": "fence"},
}
VALUES = {"bulk-store-unwaited": {"unwaited-store": "must"}}


def test_every_switch_has_its_settings() -> None:
    switches = ordering().switches
    assert {n: (" ".join(s.settings), s.default, s.strict) for n, s in switches.items()} == SWITCHES


def test_every_setting_settles_what_it_says() -> None:
    found = {
        f"{name}={setting}": dict(one.machine.settled)
        for name, switch in ordering().switches.items()
        for setting, one in switch.settings.items()
        if one.machine.settled
    }
    assert found == MACHINE


def test_every_rule_has_its_effect() -> None:
    rules = ordering().rules
    assert {name: dict(rule.under) for name, rule in rules.items() if rule.effect == "text"} == TEXT
    others = {
        name: dict(rule.under) for name, rule in rules.items() if rule.effect == "values" and rule.under
    }
    assert others == VALUES
