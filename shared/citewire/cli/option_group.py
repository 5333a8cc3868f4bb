"""Options that are listed as the fields of a class."""

import functools
from collections.abc import Callable
from dataclasses import fields
from inspect import Parameter, Signature, signature
from typing import Any

_GIVEN = "given"


def takes(group: type[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Fills a command's parameter `given`: an instance of a dataclass, of whose fields each is an option.

    A field is annotated and has a default as a parameter of a typer command would. Typer itself reads options from
    nothing but parameters, which would list them once more for each command.
    """
    names = [field.name for field in fields(group)]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def with_options(**values: Any) -> None:
            given = group(**{name: values.pop(name) for name in names})
            command(**{_GIVEN: given}, **values)

        with_options.__signature__ = _signature(command, group)  # type: ignore[attr-defined] # what inspect reads
        return with_options

    return decorate


def _signature(command: Callable[..., None], group: type[Any]) -> Signature:
    options = [
        Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type)
        for field in fields(group)
    ]
    parameters: list[Parameter] = []
    for parameter in signature(command).parameters.values():
        own = [parameter.replace(kind=Parameter.KEYWORD_ONLY)]
        parameters += options if parameter.name == _GIVEN else own
    return Signature(parameters)
