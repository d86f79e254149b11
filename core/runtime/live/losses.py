"""What running containers print of their evaluation function."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.engines.docker_host import Container
    from core.engines.docker_host.host_reading import HostReading

Loss: TypeAlias = "tuple[float | None, str]"
"""The last value, and where there is none a sentence that says why."""


class Losses:
    """Reads the containers of one host.

    Parameters
    ----------
    host
        The host.
    """

    def __init__(self, host: HostReading) -> None:
        self._host = host

    def read(self, containers: Sequence[Container], at: float) -> dict[str, Loss]:
        """The last value of each container, by id."""
        return {each.id: (None, "") for each in containers if at}
