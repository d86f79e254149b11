"""No module of the library or the application imports itself by way of others, for types neither."""

import graphlib

import grimp
import pytest


def circle(imports):
    """The modules of one circle in the order of their imports, or none."""
    try:
        tuple(graphlib.TopologicalSorter(imports).static_order())
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def test_a_circle_of_three_is_found():
    found = circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})
    assert set(found) == {"a", "b", "c"}


@pytest.mark.parametrize("package", ["core", "app"])
def test_imports_go_round_in_no_circle(package):
    graph = grimp.build_graph(package, exclude_type_checking_imports=False, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > 50
    assert circle(imports) == []
