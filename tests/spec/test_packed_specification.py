"""A specification out of the cache says what it said, and unpacks a field once somebody asks for it."""

import pickle

import pytest

from ptxmma.spec.specification import Specification


def test_a_field_is_unpacked_once_it_is_asked_for(specification: Specification) -> None:
    found = pickle.loads(pickle.dumps(specification))
    assert found.judge("8.0", "sm_90a").judge("wgmma.fence.sync.aligned;").verdict == "legal"
    assert "layouts" not in vars(found)
    assert found.layouts == specification.layouts and found.layouts is found.layouts
    again = pickle.loads(pickle.dumps(found))
    assert "layouts" not in vars(again) and again == found == specification


def test_it_has_no_other_attributes(specification: Specification) -> None:
    found = pickle.loads(pickle.dumps(specification))
    with pytest.raises(AttributeError, match=r"^'Specification' object has no attribute 'layout'$"):
        assert found.layout
    assert not hasattr(object.__new__(Specification), "layouts")
