"""Plain text, and the chat logs among it."""

from retriever.ingest.chat import chat_document, is_chat
from retriever.ingest.decoding import decode_text
from retriever.ingest.document import ParsedDocument
from retriever.ingest.titles import title_from


def parse_plain(file_name: str, data: bytes) -> ParsedDocument:
    """The text as it is, but for chat logs; raises UnreadableDocument."""
    text = decode_text(data)
    if is_chat(text):
        return chat_document(file_name, text)
    return ParsedDocument(title_from(text, file_name), "txt", text)
