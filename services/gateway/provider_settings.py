"""What administrators do with providers of models: change one, keep its key where it belongs, look at all."""

from typing import Any

from citewire.contracts.providers import (
    ModelSettings,
    Provider,
    ProviderChanges,
    ProviderSettings,
    ProviderView,
    Purpose,
    hint_of,
)
from citewire.runtime.errors import conflict
from citewire.runtime.providers import Providers
from citewire.runtime.sealing import ForeignSealError, MasterKeyError, Sealer

NO_KEY = {"sealed_key": "", "key_hint": ""}


def replaced(name: str, before: Provider | None, sent: ProviderChanges, sealer: Sealer) -> Provider:
    """A provider with the settings that were sent and the defaults of all others; raises Refusal 409."""
    fresh = Provider(name=name, revision=before.revision if before else 0)
    return _with_key(_with_settings(fresh, sent), before or fresh, sent, sealer)


def changed(before: Provider, sent: ProviderChanges, sealer: Sealer) -> Provider:
    """A provider with the settings that were sent and its own of all others; raises Refusal 409."""
    return _with_key(_with_settings(before, sent), before, sent, sealer)


def changed_fields(before: Provider | None, after: Provider, sent: ProviderChanges) -> list[str]:
    """Names of the settings that differ now, `key` for a new one and for one that is gone."""
    old = before or Provider(name=after.name)
    fields = [name for name in ProviderSettings.model_fields if getattr(old, name) != getattr(after, name)]
    is_key_changed = sent.key is not None or bool(old.sealed_key) != bool(after.sealed_key)
    return [*fields, "key"] if is_key_changed else fields


def view(providers: Providers, provider: Provider) -> ProviderView:
    """A provider as administrators see it."""
    serving = ((purpose, providers.entry(purpose)) for purpose in Purpose)
    return ProviderView(
        **{name: getattr(provider, name) for name in ("name", *ProviderSettings.model_fields)},
        key=provider.key_hint if provider.sealed_key else None,
        missing=providers.missing(provider),
        is_usable=providers.is_usable(provider),
        serves=tuple(purpose for purpose, entry in serving if entry is not None and entry.name == provider.name),
        warnings=provider.warnings(),
    )


def view_all(providers: Providers) -> ModelSettings:
    """All providers by name, and which serves what."""
    serving = {purpose: providers.entry(purpose) for purpose in Purpose}
    return ModelSettings(
        providers=tuple(view(providers, provider) for _, provider in sorted(providers.registry.entries.items())),
        purposes={purpose: None if entry is None else entry.name for purpose, entry in serving.items()},
    )


def _with_settings(provider: Provider, sent: ProviderChanges) -> Provider:
    given = {name: getattr(sent, name) for name in sent.model_fields_set - {"key"}}
    return provider.model_copy(update={**given, "revision": provider.revision + 1})


def _with_key(after: Provider, before: Provider, sent: ProviderChanges, sealer: Sealer) -> Provider:
    try:
        key = (
            _kept_key(before, after, sealer)
            if sent.key is None
            else _new_key(sent.key.get_secret_value(), after, sealer)
        )
    except MasterKeyError:
        raise conflict("The key can't be kept: CITEWIRE_MASTER_KEY is not set, or is not valid.") from None
    return after.model_copy(update=key)


def _new_key(key: str, provider: Provider, sealer: Sealer) -> dict[str, Any]:
    if not key:
        return NO_KEY
    return {"sealed_key": sealer.seal(key, provider.name, provider.origin), "key_hint": hint_of(key)}


def _kept_key(before: Provider, after: Provider, sealer: Sealer) -> dict[str, Any]:
    """The key that is there, unless it would go to another host than it was given for."""
    if not before.sealed_key or before.origin != after.origin:
        return NO_KEY
    kept = {"sealed_key": before.sealed_key, "key_hint": before.key_hint}
    try:
        key = sealer.open(before.sealed_key, before.name, before.origin)
    except (MasterKeyError, ForeignSealError):
        return kept
    # Anew, so that a master key that is on its way out is needed by nothing that was saved since.
    return kept | {"sealed_key": sealer.seal(key, after.name, after.origin)}
