"""Names of streams, consumers and buckets: written once, used by provisioning, services and documents."""

from typing import Final

QUESTIONS: Final = "QA_QUESTIONS"
PLANS: Final = "QA_PLANS"
RETRIEVALS: Final = "QA_RETRIEVALS"
SEGMENTS: Final = "QA_SEGMENTS"
OUTCOMES: Final = "QA_OUTCOMES"
DOCUMENTS: Final = "KB_DOCUMENTS"
DEAD_LETTERS: Final = "DEAD_LETTERS"

KB_BUCKET: Final = "knowledge-bases"
KEY_BUCKET: Final = "keys"
BROWSER_BUCKET: Final = "browser-sessions"
PROVIDER_BUCKET: Final = "model-providers"
UPLOAD_BUCKET: Final = "uploads"

DEAD_LETTER_SUBJECT: Final = "dead.v1"
# Followed by the asker and the question id: `qa.v1.answer.stop.<asker>.<question_id>`.
STOP_SUBJECT: Final = "qa.v1.answer.stop"
