"""Which English words a full stop may follow without ending the sentence."""

_NEVER_LAST = """
mr mrs ms dr prof st gen col capt lt sgt rev hon sen rep gov pres mt e.g i.e eg ie cf vs viz al approx ca
"""
_NUMBERED = "no nos fig figs vol vols pp p sec sect art ch eq ref par para tab"
_MAYBE_LAST = "inc ltd co corp llc plc bros dept est etc jr sr a.m p.m jan feb mar apr jun jul aug sep sept oct nov dec"
_STARTERS = """
The A An This That These Those It Its He She They We You I In On At By For From To With As And But Or So If
However There Then When While After Before Also Our Their His Her What Who Why Where How No Not
"""

NEVER_LAST = frozenset(_NEVER_LAST.split())
"""A full stop behind these never ends a sentence: a name or an explanation follows."""

NUMBERED = frozenset(_NUMBERED.split())
"""These go on when a number follows."""

MAYBE_LAST = frozenset(_MAYBE_LAST.split())
"""These end a sentence only if the next word is one of STARTERS; so do initials and dotted words (U.S.)."""

STARTERS = frozenset(_STARTERS.split())
"""Words that, with a capital, begin a sentence more often than they go on with one."""
