"""Sockets of the HTTP services."""

import socket

import pytest

from citewire.runtime.listening import DEAD_PEER, _bind


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="the platform has no such option")
def test_an_accepted_connection_is_given_up_when_its_peer_is_dead() -> None:
    with _bind("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()

        limit = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)

        accepted.close()
    assert limit == DEAD_PEER * 1000


def test_a_taken_port_ends_the_process_with_a_word() -> None:
    with _bind("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]

        with pytest.raises(SystemExit, match=f"can't listen on 127.0.0.1:{port}"):
            _bind("127.0.0.1", port)
