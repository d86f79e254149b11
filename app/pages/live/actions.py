"""Actions of the Live page's buttons; those on several containers ask for confirmation first."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from dash import dcc, html, set_props

from app.context import workspace
from app.pages.live import limit, policy, queue, record
from app.pages.live.queue import form as job_form
from app.pages.live.state import Queue, does, is_control
from app.ui.basics import Node, button
from app.ui.engines import is_demo
from app.ui.page import notify
from core.live.queue.values import QueueState
from core.scheduling.policies import display_name
from core.units import plural

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.sampling.values import LiveView, ReleaseResult

_BIG = 760
_SMALL = 480


def close() -> None:
    """Close the window."""
    set_props("live-window", {"opened": False})


def poke() -> None:
    """Make the page poll again at once."""
    set_props("live-poke", {"data": time.time()})


def show(title: Node, children: list[Node], size: int = _SMALL) -> list[Node]:
    """Open the window; returns its contents, which the callback must put there.

    A figure set by `set_props` would not be drawn, because that does not call its callback.
    """
    set_props("live-window", {"opened": True, "title": title, "size": size})
    return children


def _one(view: LiveView, container: str) -> list[Node]:
    row = limit.row_of(view, container)
    control = workspace().live.engines.may_change(view.engine.name)
    return show(row.name, limit.window(view, container, control=control), _BIG)


def _ask_restart(view: LiveView, container: str) -> list[Node]:
    row = limit.row_of(view, container)
    return show(f"Restart {row.name}?", limit.ask_restart(row))


def _restart(view: LiveView, container: str) -> None:
    name = workspace().live.limits.restart(view.engine.name, container)
    close()
    notify("It has the same limits as before.", "ok", title=f"{name} was restarted.")


def _ask_release(view: LiveView, _target: str) -> list[Node]:
    changed = [row.name for row in view.rows if row.held]
    attached = view.attached
    parts: list[Node] = []
    if attached is not None and is_control(attached):
        parts.append(html.P(f"{display_name(attached.policy)} is detached."))
    if changed:
        n = len(changed)
        text = f"The original limits of {plural(n, 'container')} are restored:"
        parts += [html.P(text), html.Ul([html.Li(name) for name in sorted(changed)], className="names")]
    elif not parts:
        parts.append(html.P(f"According to the last sample, nothing on {view.engine.name} is changed."))
    parts.append(html.P("Containers keep running and recordings continue.", className="ink2 small"))
    buttons = [
        button("Cancel", None, "", **does("close")),
        button("Release everything", "lock-open", "danger", **does("release-now")),
    ]
    return show("Release everything?", [*parts, html.Div(buttons, className="row ends")])


def released_words(released: ReleaseResult) -> tuple[str, str, str]:
    """The outcome of a release as a message: kind, title, text."""
    n = len(released.restored)
    title = f"Limits of {plural(n, 'container')} restored." if n else "Nothing was changed."
    text = []
    if released.gone:
        text.append(f"{', '.join(released.gone)}: no longer there.")
    text += [f"{name}: {sentence}" for name, sentence in released.failed]
    kind = "bad" if released.failed else "ok"
    return kind, title, " ".join(text) or "Each has its original limits again."


def _release(view: LiveView, _target: str) -> None:
    close()
    kind, title, text = released_words(workspace().live.limits.release(view.engine.name))
    notify(text, kind, title=title)


def _undo(view: LiveView, target: str) -> None:
    change = workspace().live.limits.undo(view.engine.name, target)
    close()
    notify(change.sentence, "ok", title=f"The limits of {change.container} are restored.")


def _pick(view: LiveView, target: str) -> list[Node] | None:
    name = next((row.name for row in view.foreign if row.id == target), target[:12])
    if is_control(view.attached):
        text = f"{name} does not carry the label. The attached policy will set its limits from now on."
        buttons = [
            button("Cancel", None, "", **does("close")),
            button(f"Select {name}", "plus", "primary", **does("pick-now", target)),
        ]
        return show(f"Select {name}?", [html.P(text), html.Div(buttons, className="row ends")])
    _pick_now(view, target)
    return None


def _pick_now(view: LiveView, target: str) -> None:
    name = next((row.name for row in view.foreign if row.id == target), target[:12])
    workspace().live.limits.pick(view.engine.name, target)
    close()
    undo = button("Undo", "arrow-back-up", "small", **does("unpick", target))
    words = html.Span("Nothing has changed yet; its limits may be changed from now on.")
    notify(html.Div([words, undo], className="row between"), "info", title=f"{name} is selected.")


def _unpick(view: LiveView, target: str) -> None:
    name = next((row.name for row in view.rows if row.id == target), target[:12])
    workspace().live.limits.unpick(view.engine.name, target)
    notify(
        "It has its original limits, and PhaseDock no longer changes them.",
        "ok",
        title=f"{name} is no longer selected.",
    )


def _detach(view: LiveView, _target: str) -> None:
    words = policy.detached_words(view)
    attached = view.attached
    workspace().live.policies.detach(view.engine.name)
    notify(words, "ok", title=f"{display_name(attached.policy) if attached else 'The policy'} is detached.")


def _attach_again(_view: LiveView, task: str) -> None:
    """Attach a policy that ended with its worker, with the settings and the mode that it had."""
    space = workspace()
    title = space.tasks.get(space.live.policies.reattach(task)).title
    notify("It has the settings and the mode that it had.", "ok", title=f"{title} again.")


def _not_again(view: LiveView, _target: str) -> None:
    """Prevent that a policy which ended with its worker is attached again."""
    task = workspace().live.policies.detach(view.engine.name)
    name = display_name(str(workspace().tasks.get(task).params.get("policy", "")))
    notify("A worker restores the limits that it had set.", "ok", title=f"{name} is not attached again.")


def _stop_recording(view: LiveView, _target: str) -> None:
    task = workspace().live.recordings.stop(view.engine.name)
    set_props("changed", {"data": f"recorded {task}"})
    notify(record.stopped(task), "ok", title="The recording has ended.")


def _job_form(view: LiveView, _target: str) -> list[Node]:
    return show("Submit a job", job_form(demo=is_demo(view.engine)), _BIG)


def _job_cancel(view: LiveView, target: str) -> list[Node] | None:
    job = workspace().live.queue.find(view.engine.name, target)
    if job.state is QueueState.WAITING:
        _job_cancel_now(view, target)
        return None
    return show(f"End {job.name}?", queue.ask_cancel(job))


def _job_cancel_now(view: LiveView, target: str) -> None:
    job = workspace().live.queue.cancel(view.engine.name, target)
    close()
    text = "Its container is being ended and removed." if job.cancelling else "It is off the queue."
    notify(text, "ok", title=f"{job.name} is cancelled.")


def _job_remove(view: LiveView, target: str) -> None:
    live = workspace().live.queue
    job = live.find(view.engine.name, target)
    live.remove(view.engine.name, target)
    notify("Its container and its folder are removed as well.", "ok", title=f"{job.name} is off the list.")


def _job_moved(by: int) -> Callable[[LiveView, str], None]:
    def move(view: LiveView, target: str) -> None:
        live = workspace().live.queue
        live.set_priority(view.engine.name, target, live.find(view.engine.name, target).priority + by)

    return move


def set_limit(engine: str, container: str, cores: float | None, memory: float | None) -> None:
    """Set limits by hand, and offer to take them back."""
    change = workspace().live.limits.set_limit(engine, container, cores, memory)
    close()
    undo = button("Undo", "arrow-back-up", "small", **does("undo", container))
    words = html.Span(change.sentence)
    notify(html.Div([words, undo], className="row between"), "ok", title=f"{change.container} changed.")


def _take_control(view: LiveView, _target: str) -> list[Node] | None:
    """Ask for confirmation before a watching policy takes control, with its savings so far."""
    attached = view.attached
    if attached is None or is_control(attached):
        return None
    draft = {
        "engine": view.engine.name,
        "policy": attached.policy,
        "mode": "control",
        "settings": dict(attached.settings),
        "reattach": attached.reattach,
        "instead": True,
    }
    set_props("live-draft", {"data": draft})
    waiting = [job.name for job in Queue.of(view.engine.name).waiting]
    title = f"Let {display_name(attached.policy)} control {plural(len(view.rows), 'container')}?"
    memory = bool(attached.settings.get("memory"))
    return show(title, policy.confirmation(view, attached.policy, waiting, memory=memory))


def _teach(view: LiveView, _target: str) -> None:
    """Train the attached policy's model on the containers unfamiliar to it."""
    attached = view.attached
    evidence = None if attached is None else attached.evidence
    if attached is None or evidence is None:
        return
    ids = [row.id for row in view.rows if row.name in evidence.unfamiliar]
    model, now = str(attached.settings.get("model") or ""), time.time()
    task = workspace().live.recordings.teach(view.engine.name, model, ids, attached.since, now)
    words = html.Span(
        [
            "The present model stays unchanged. ",
            dcc.Link("See the task", href=f"/tasks?task={task}", className="link"),
        ]
    )
    notify(words, "ok", title=f"A model is being trained on {plural(len(ids), 'container')}.")


ACTIONS: dict[str, Callable[[LiveView, str], list[Node] | None]] = {
    "one": _one,
    "restart": _ask_restart,
    "restart-now": _restart,
    "release": _ask_release,
    "release-now": _release,
    "undo": _undo,
    "pick": _pick,
    "pick-now": _pick_now,
    "unpick": _unpick,
    "detach": _detach,
    "take-control": _take_control,
    "teach": _teach,
    "attach-again": _attach_again,
    "not-again": _not_again,
    "record-stop": _stop_recording,
    "job-form": _job_form,
    "job-cancel": _job_cancel,
    "job-cancel-now": _job_cancel_now,
    "job-remove": _job_remove,
    "job-up": _job_moved(1),
    "job-down": _job_moved(-1),
}
"""What each button does with the engine as it is now and the id that the button carries."""
OPENS = frozenset(("one", "restart", "release", "job-form", "take-control"))
"""The actions that only open a window and change nothing."""


def act(view: LiveView, request: dict[str, Any]) -> list[Node] | None:
    """Perform a button's action; returns the window's content, or None."""
    answer = ACTIONS[request["act"]](view, str(request.get("id") or ""))
    if request["act"] not in OPENS:
        poke()
    return answer
