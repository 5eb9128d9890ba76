"""On PYTHONPATH in the tests: a process that reads this reaches nothing beyond this machine.

Where VIT_COURSE_FLOAT64 is set it computes in float64, for tests of what is equal in mathematics.
"""

import os
import socket

_connect = socket.socket.connect
_getaddrinfo = socket.getaddrinfo
_LOCAL = ("127.", "::1", "localhost", "0.0.0.0")


def _refuse(host) -> None:
    if not str(host).startswith(_LOCAL):
        raise OSError(f"the network is blocked in the tests: {host}")


def _checked_connect(self, address):
    if self.family in (socket.AF_INET, socket.AF_INET6):
        _refuse(address[0])
    return _connect(self, address)


def _checked_getaddrinfo(host, *arguments, **options):
    if host is not None:
        _refuse(host.decode() if isinstance(host, bytes) else host)
    return _getaddrinfo(host, *arguments, **options)


if "VIT_COURSE_FLOAT64" in os.environ:
    import torch

    torch.set_default_dtype(torch.float64)
socket.socket.connect = _checked_connect
socket.getaddrinfo = _checked_getaddrinfo
