"""Drafts a plan with a provider's model: the weaker one, then a stronger one, then without any."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import structlog

from autoquery.follow_up import retrieval_context
from autoquery.plan import Draft, plan_queries
from autoquery.prompt import Task, build_request
from autoquery.proposal import Proposal, UnusableProposal, read_proposal
from citewire.contracts.provenance import Maker, Planner, Usage
from citewire.contracts.providers import Provider, Purpose
from citewire.runtime.bus import seconds_left
from citewire.runtime.model.failures import ModelFailed
from citewire.runtime.model.requests import CallReport, ModelRequest
from citewire.runtime.model.usage import add
from citewire.runtime.providers import Providers

if TYPE_CHECKING:
    from citewire.runtime.model.client import ModelClient

log = structlog.get_logger()

# The part of an answer's time that one try may take at most.
TIME_SHARE = 0.25


class _PlanFailed(Exception):  # noqa: N818 - a fact about models, not a bug of ours
    """No model's plan can be used."""


@dataclass(frozen=True)
class Planning:
    """Drafts plans; each try with a model has at most `limit` seconds."""

    providers: Providers
    limit: float

    async def draft(self, task: Task, asked_model: str, deadline: datetime, *, is_new: bool) -> Draft:
        """A model's plan where one may be asked and gives one, else that of the rules.

        `asked_model` (may be empty) goes before the provider's own. No model is asked for a question that is not new:
        it may have another plan already.
        """
        client = self.providers.for_purpose(Purpose.REWRITE)
        if client is None or not task.kbs:
            return _by_rules(task)
        if not is_new:
            return _by_rules(task, None, "the question was delivered again")
        reports = list[CallReport]()
        try:
            return await self._with_models(client, task, models_to_try(client.provider, asked_model), reports, deadline)
        except _PlanFailed as failed:
            return _by_rules(task, total_usage(reports), str(failed))

    async def _with_models(
        self, client: "ModelClient", task: Task, models: Iterable[str], reports: list[CallReport], deadline: datetime
    ) -> Draft:
        reasons = list[str]()
        for model in models:
            reports.append(CallReport())
            try:
                proposal = await self._try(client, task, model, reports[-1], deadline)
            except (ModelFailed, UnusableProposal) as failure:
                log.warning("a model gave no plan", provider=client.provider.name, model=model, reason=str(failure))
                reasons.append(str(failure))
            else:
                return self._accept(proposal, client.provider, model, reports)
        raise _PlanFailed("; ".join(dict.fromkeys(reasons)))

    async def _try(
        self, client: "ModelClient", task: Task, model: str, report: CallReport, deadline: datetime
    ) -> Proposal:
        name = client.provider.name
        request = build_request(task, client.provider, model)
        if request is None:
            raise UnusableProposal(f"the question does not fit the context of the model provider {name}")
        text = await self._complete(client, request, report, deadline)
        try:
            return read_proposal(text, task.question, task.kb_ids, task.max_queries)
        except UnusableProposal as fault:
            raise UnusableProposal(f"the model provider {name} gave {fault}") from None

    async def _complete(
        self, client: "ModelClient", request: ModelRequest, report: CallReport, deadline: datetime
    ) -> str:
        limit = min(self.limit, seconds_left(deadline) * TIME_SHARE)
        try:
            async with asyncio.timeout(limit):
                return await client.complete(request, report)
        except TimeoutError:
            reason = f"the model provider {client.provider.name} gave no plan within {limit:.1f} seconds"
            raise UnusableProposal(reason) from None

    def _accept(self, proposal: Proposal, provider: Provider, model: str, reports: list[CallReport]) -> Draft:
        if not proposal.search_needed and self.providers.entry(Purpose.ASK) is None:
            reason = f"the model provider {provider.name} wants no search, and there is no model to answer without one"
            raise _PlanFailed(reason)
        planner = Planner(
            made_by=Maker.MODEL,
            provider=provider.name,
            model=model,
            rewritten_question=proposal.rewritten_question,
            search_needed=proposal.search_needed,
            usage=total_usage(reports),
        )
        return Draft(proposal.queries, planner, tuple(f"while planning: {problem}" for problem in reports[-1].problems))


def models_to_try(provider: Provider, asked_model: str) -> tuple[str, ...]:
    """The weaker model, and one stronger if it is another."""
    weaker = asked_model or provider.auto_query_model or provider.model
    stronger = provider.fallback_model or provider.model
    return (weaker,) if stronger == weaker else (weaker, stronger)


def total_usage(reports: Iterable[CallReport]) -> Usage | None:
    """What all tries spent together; None if none of them tells."""
    spent: Usage | None = None
    for report in reports:
        spent = spent if report.usage is None else add(spent, report.usage)
    return spent


def _by_rules(task: Task, spent: Usage | None = None, reason: str | None = None) -> Draft:
    context = retrieval_context(task.question, task.history)
    queries = plan_queries(task.question, context, task.kb_ids, task.max_queries)
    return Draft(queries, Planner(usage=spent), (f"planned by rules: {reason}",) if reason else ())
