"""What a query asks the lexical index for: terms and how much each weighs. Pure."""

from collections import Counter
from collections.abc import Mapping

from citewire.contracts.events import MAX_QUESTION_CHARACTERS
from citewire.contracts.evidence import SearchQuery
from citewire.text.tokenizer import tokenize

# Earlier questions of a conversation: enough to name the subject of a follow-up, too little to outvote it
# (the best of the weights that were measured on follow-up questions of MTRAG).
CONTEXT_WEIGHT = 0.2


def query_weights(query: SearchQuery) -> Mapping[str, float]:
    """The weight of each term: how often the query has it, and less for each time that its context does."""
    weights = Counter[str]()
    for text, weight in ((query.query, 1.0), *((text, CONTEXT_WEIGHT) for text in query.context)):
        for term in tokenize(text[:MAX_QUESTION_CHARACTERS]):
            weights[term] += weight  # type: ignore[assignment] # a Counter counts in any number
    return weights
