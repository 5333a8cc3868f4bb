"""The bucket where uploaded files wait to be read."""

import asyncio
import io

import nats.errors
from nats.js import JetStreamContext
from nats.js.errors import NotFoundError
from nats.js.object_store import ObjectStore

from citewire.contracts.streams import UPLOAD_BUCKET
from citewire.runtime.errors import TransientError

# Seconds for the largest file that the gateway lets in.
_FETCH_TIMEOUT = 60.0


class Uploads:
    """Fetches and deletes uploads; raises TransientError when the bucket is away."""

    def __init__(self, bucket: ObjectStore) -> None:
        self._bucket = bucket

    async def fetch(self, name: str) -> bytes | None:
        """A file's bytes, checked against their digest; None when it is gone."""
        # Without a buffer of ours the client appends bytes to bytes, in quadratic time.
        data = io.BytesIO()
        try:
            async with asyncio.timeout(_FETCH_TIMEOUT):
                await self._bucket.get(name, writeinto=data)
        except NotFoundError:
            return None
        except (nats.errors.Error, TimeoutError) as error:
            raise TransientError(f"upload bucket: {error!r}") from error
        return data.getvalue()

    async def delete(self, name: str) -> None:
        """Forget a file that was read; nothing happens when it is gone."""
        try:
            await self._bucket.delete(name)
        except NotFoundError:
            return
        except nats.errors.Error as error:
            raise TransientError(f"upload bucket: {error!r}") from error


async def open_uploads(js: JetStreamContext) -> Uploads:
    """The bucket, which provisioning has made."""
    return Uploads(await js.object_store(UPLOAD_BUCKET))
