"""Words that say nothing about a subject, in English and Chinese: never indexed, never searched for."""

_ENGLISH = """
a about above after again against all am an and any are aren't as at be because been before being below
between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each
few for from further had hadn't has hasn't have haven't having he her here hers herself him himself his how
i i'd i'll i'm i've if in into is isn't it it's its itself just let's me more most mustn't my myself no nor not
of off on once only or other ought our ours ourselves out over own same shan't she should shouldn't so some
such than that that's the their theirs them themselves then there there's these they they'd they'll they're
they've this those through to too under until up upon very was wasn't we we'd we'll we're we've were weren't
what what's when where which while who who's whom whose why will with won't would wouldn't you you'd you'll
you're you've your yours yourself yourselves
"""

# Grammar, and the words that only make a sentence a question.
_CHINESE = """
的 了 是 在 和 与 與 及 或 吗 嗎 呢 吧 啊 呀 么 麼 之 其 而 且 则 則 着 著 被 把 也 都 就 很 这 這 那 哪 什 怎
什么 什麼 怎么 怎麼 多少 哪些 哪个 哪個 哪里 哪裡 如何 为何 為何 是否 请问 請問 这个 這個 那个 那個 这些 這些 那些
"""

STOP_WORDS = frozenset(_ENGLISH.split()) | frozenset(_CHINESE.split())

ACRONYMS = frozenset({"IT", "WHO"})
"""Written in capitals these are names, not the stop words they look like."""
