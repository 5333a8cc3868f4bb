"""The process that `worker` starts: does one piece of work after the other until its input ends."""

import logging
import os
import pickle
import resource
import sys
import warnings
from collections.abc import Callable
from typing import IO, Any

from citewire.runtime.garbage import spare_collections
from citewire.text.tokenizer import tokenize
from retriever.contents import NewVersion, Unreadable
from retriever.ingest.document import UnreadableDocument
from retriever.worker import LENGTH

# Bytes of memory that a file may take to be read, against files made to take more than there is.
_MEMORY_LIMIT = 4 << 30


def _read_file(file_name: str, data: bytes) -> NewVersion | Unreadable:
    from retriever.reading import read_file  # noqa: PLC0415 - a child that only tokenises need not load all parsers

    try:
        return read_file(file_name, data)
    except UnreadableDocument as error:
        return Unreadable(str(error))
    except MemoryError:
        return Unreadable("reading it takes too much memory")


def _tokenise(texts: list[str]) -> list[str]:
    return [" ".join(tokenize(text)) for text in texts]


_JOBS: dict[str, Callable[..., Any]] = {"read_file": _read_file, "tokenise": _tokenise}


def serve(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Do what is asked until there is no more input: the child's whole life. A bug ends it."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_LIMIT, resource.getrlimit(resource.RLIMIT_AS)[1]))
    while head := requests.read(LENGTH.size):
        job, values = pickle.loads(requests.read(LENGTH.unpack(head)[0]))  # noqa: S301 - from our own parent
        reply = pickle.dumps(_JOBS[job](*values))
        replies.write(LENGTH.pack(len(reply)) + reply)
        replies.flush()


def main() -> None:
    """Serve the standard streams; whatever a library prints, in C or Python, must not land among the replies."""
    # Libraries remark on odd files; what an owner should know of them is in the reply.
    warnings.simplefilter("ignore")
    logging.disable()
    spare_collections()
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.stdin.buffer, replies)


if __name__ == "__main__":
    main()
