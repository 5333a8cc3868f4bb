"""Providers of models as tables in a terminal."""

from rich.table import Table

from citewire.contracts.providers import ModelSettings, ProviderSettings, ProviderView


def provider_table(settings: ModelSettings) -> Table:
    """Providers, one a row."""
    table = Table("name", "address", "model", "key", "state", "serves", "warnings")
    for provider in settings.providers:
        table.add_row(
            provider.name,
            provider.address or "–",
            provider.model or "–",
            provider.key or "–",
            state_of(provider),
            ", ".join(provider.serves) or "–",
            ", ".join(provider.warnings) or "–",
        )
    return table


def settings_table(provider: ProviderView) -> Table:
    """All settings of a provider; durations in seconds."""
    table = Table(provider.name, state_of(provider))
    for name, value in provider.model_dump(mode="json", include=set(ProviderSettings.model_fields)).items():
        table.add_row(name, _in_words(value))
    table.add_row("key", provider.key or "–")
    table.add_row("serves", ", ".join(provider.serves) or "–")
    table.add_row("warnings", ", ".join(provider.warnings) or "–")
    return table


def state_of(provider: ProviderView) -> str:
    """Whether a provider can be asked, and if not, why."""
    if provider.missing:
        return f"missing: {', '.join(provider.missing)}"
    return "usable" if provider.enabled else "disabled"


def _in_words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "–" if value is None or not str(value) else str(value)
