"""The tables of checkpoints: the steps and states of a fit on a cluster."""

from __future__ import annotations

from typing import Final

from twofold.export.contents.checking import Contents
from twofold.export.contents.fields import (
    a,
    alone,
    anything,
    either,
    figure,
    floats,
    generator,
    integers,
    keyed,
    listed,
    mapping,
    none,
    number,
    record,
    whole,
)
from twofold.export.contents.maps import DECODERS, ENCODERS, REGRESSIONS

_points: Final = floats("n", "q")
_maps: Final = {
    "up": a(*REGRESSIONS, inputs="latents", outputs="columns"),
    "down": a(*REGRESSIONS, inputs="columns", outputs="latents"),
}
_best: Final = record(figure, _maps["up"], _maps["down"], floats("rows", "latents"), anything)

_step: Final = either(
    a(*ENCODERS),
    a(
        "Affine",
        "AlphaChoice",
        "CenteredUnits",
        "DescentSettings",
        "FinalMaps",
        "Fitted",
        "NodeExpansion",
        "Turns",
    ),
    floats("n?"),
    floats("n", "q"),
    integers("n?"),
    record(either(a(*ENCODERS), floats("n", "q")), anything),
    record(whole(0), whole(0)),
    record(floats("n", "q"), number(low=0.0)),
    record(a("DescentSettings"), a("Fitted"), anything),
)
_state: Final = either(
    a("DescentState", "SoftState", "TurnState"),
    keyed(
        {
            "latents": floats("rows", "latents"),
            "best": floats("rows", "latents"),
            "history": listed(figure),
        }
    ),
)

TABLES: Final[dict[str, Contents]] = {
    "Checkpoint": Contents(
        {
            "facts": mapping(anything),
            "steps": mapping(alone(_step)),
            "generators": mapping(generator),
            "states": mapping(alone(_state)),
        }
    ),
    "FinalMaps": Contents(
        {**_maps, "decoder": a(*DECODERS, inputs="latents", outputs="all columns")}
    ),
    "Turns": Contents(
        {
            **_maps,
            "latents": floats("rows", "latents"),
            "energies": floats("turns", nan=True),
            "held_out": floats("turns", nan=True),
        }
    ),
    "TurnState": Contents(
        {
            "latents": floats("rows", "latents"),
            "others": floats("held-out rows?", "latents"),
            "history": listed(figure),
            "judged": listed(figure),
            "turn": whole(0),
            "moves": anything,
            "idle": whole(0),
            "best": either(none, _best),
        }
    ),
}
