"""What `ptxmma check` tells of a kernel, and of one in which some lines are exchanged for others."""

from __future__ import annotations

from ptxmma.check.check_file import check_text

__all__ = ["Lines", "Told", "loud", "told"]

Lines = list[tuple[str, str]]  # lines, and what stands in their place
Told = list[tuple[str, str]]  # tier and rule of each finding


def told(kernel: str, lines: Lines) -> Told:
    """What is told but for remarks, each kind once; fails where lines are not there, or cannot be read."""
    for old, new in lines:
        assert old in kernel
        kernel = kernel.replace(old, new)
    report = check_text(kernel, "k.ptx")
    assert not report.faults
    return sorted({(one.tier, one.rule) for one in report.findings if one.tier != "info"})


def loud(kernel: str) -> set[tuple[str, str]]:
    """Tier and rule of what is surely or likely wrong; fails where the kernel cannot be read."""
    report = check_text(kernel, "k.ptx")
    assert not report.faults
    return {(one.tier, one.rule) for one in report.findings if one.tier in ("error", "likely")}
