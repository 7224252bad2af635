"""Every operator case, written once for all tests of a framework."""

import pytest

from emitted import written_cases


@pytest.fixture(scope="session")
def torch_cases(tmp_path_factory):
    return written_cases("torch", tmp_path_factory.mktemp("torch"))


@pytest.fixture(scope="session")
def keras_cases(tmp_path_factory):
    return written_cases("keras", tmp_path_factory.mktemp("keras"))
