"""Iterations by turns: one loop for alternations and descents that can be interrupted and resumed.

A method supplies a state and a function that changes the state by one turn. A turn that lowers the
value by less than a share ``tol`` is *idle* (`falls` is False); each method decides how many idle
turns end its iteration.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from twofold.protocols import Array, Callback


@dataclass(kw_only=True)
class State:
    """What the next turn needs, as data that a checkpoint can hold.

    ``turn`` counts the turns taken; ``history`` has the values that they reached.
    """

    latents: Array
    history: list[float]
    turn: int = 0

    @property
    def value(self) -> float:
        """The value that decides when to stop."""
        return self.history[-1]


AnyState = TypeVar("AnyState", bound=State)


def never_stop(n_turns: int, value: float, latents: Array) -> bool:  # noqa: ARG001 - a callback
    """Return False: the callback of iterations that nobody watches."""
    return False


def falls(before: float, after: float, tol: float) -> bool:
    """Return whether a value falls by more than the share ``tol``."""
    return after < (1.0 - tol) * before


@dataclass(frozen=True)
class TurnOptions:
    """The most turns, the share of `falls`, and functions to call after each turn.

    ``callback`` may end the iteration; ``note`` gets the state after each turn except the last.
    """

    max_iter: int
    tol: float
    callback: Callback = never_stop
    note: Callable[[State], None] | None = None


def run_turns(
    state: AnyState, take_turn: Callable[[AnyState], bool], options: TurnOptions
) -> AnyState:
    """Take turns until one returns True, the callback does, or there are ``max_iter`` of them.

    ``take_turn`` changes the state in place; ``state.turn`` counts the turns, the present one
    included.
    """
    while state.turn < options.max_iter:
        state.turn += 1
        ended = take_turn(state)
        if options.callback(state.turn, state.value, state.latents) or ended:
            break
        if options.note is not None:
            options.note(state)
    return state
