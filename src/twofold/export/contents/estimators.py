"""The tables of estimators, and of what they report."""

from __future__ import annotations

from typing import Any, Final

from twofold.export.contents.checking import Contents
from twofold.export.contents.fields import (
    LARGEST,
    Field,
    Scope,
    UnfitError,
    a,
    alone,
    anything,
    count,
    either,
    figure,
    floats,
    integers,
    keyed,
    labels,
    listed,
    mapping,
    none,
    number,
    optional,
    positive_amount,
    record,
    text,
    texts,
    tupled,
    values,
    whole,
)
from twofold.export.contents.manifolds import DOMAINS
from twofold.export.contents.maps import DECODERS, ENCODERS, REGRESSIONS
from twofold.export.contents.parts import LOSSES, UNITS, jobs

TWO_WAY: Final = (
    "AgglomerativeIsomap",
    "AutoTwoWay",
    "DRUR",
    "PrincipalManifold",
    "SNE",
    "SupervisedIsomap",
    "TwoWay",
    "UKR",
)

anywhere: Final[dict[str, Field]] = {
    "feature_names_in_": texts("features"),
    "_sklearn_output_config": keyed({"transform": text("default", "pandas", "polars")}),
}
"""What scikit-learn may add to every estimator."""

_told: Final = either(text(), figure, none)
_starts: Final = listed(mapping(either(_told, alone(floats("dimensions")))))
_pairs: Final = listed(
    keyed(
        {"up": text(), "down": text()}
        | dict.fromkeys(("error", "map_score", "latent_error"), figure)
    )
)


def _names_of_attributes(model: Any) -> None:
    names = getattr(model, "_learned_names", ())
    # A new fit removes these attributes.
    if not all(one.isidentifier() for one in names) or set(names) & set(model._get_param_names()):
        raise UnfitError("_learned_names is no list of learned attributes")


def two_way(
    learned: dict[str, Field],
    *,
    encoders: tuple[str, ...] = REGRESSIONS,
    decoders: tuple[str, ...] = REGRESSIONS,
    density: str = "LatentDensity",
    parameters: dict[str, Field] | None = None,
    sometimes: dict[str, Field] | None = None,
    agree: Any = None,
) -> Contents:
    """Return the table of a two-way estimator with these attributes of its own.

    The model of constant data has regressions and a `LatentDensity`, whatever the method.
    """

    def whole_model(model: Any, scope: Scope) -> None:
        _names_of_attributes(model)
        if agree is not None:
            agree(model, scope)

    return Contents(
        parameters={"n_jobs": jobs, **(parameters or {})},
        learned={
            "n_features_in_": count("features"),
            "_data_units": a(*UNITS, features="features", kept="columns"),
            "embedding_": values("rows?", "components"),
            "_latent_units": a(*UNITS, features="components", kept="latents"),
            "encoder_": a(*REGRESSIONS, *encoders, inputs="columns", outputs="latents"),
            "decoder_": a(*REGRESSIONS, *decoders, inputs="latents", outputs="columns"),
            "density_": a("LatentDensity", density, latents="latents"),
            "_variance": number(low=0.0, high=LARGEST),
            **learned,
        },
        sometimes={
            "_gap_filling": optional(a("GapFilling", columns="columns")),
            "compression_": a("Compression"),
            "_learned_names": tupled(text(), "names"),
            "alignment_": a("Alignment"),
            "_n_rows": whole(1),
            "update_report_": a("UpdateReport"),
            **anywhere,
            **(sometimes or {}),
        },
        agree=whole_model,
    )


def _one_feature_space(model: Any, scope: Scope) -> None:
    """Check that a map in a feature space is that of the metric, both ways."""
    spaces = [getattr(one, "space", None) for one in (model.encoder_, model.decoder_)]
    if spaces[0] is not spaces[1]:
        raise UnfitError("encoder_ and decoder_ are of different feature spaces")
    if spaces[0] is not None and spaces[0].metric != model.metric:
        raise UnfitError(f"metric is {str(model.metric)[:40]!r}")


def _maps_of_both_ways(model: Any, scope: Scope) -> None:
    """Check that both encoders are coordinates and a map, or regressions of constant data."""
    for name, way in model._ways.items():
        if type(way).__name__ == "Chain":
            steps = [type(one).__name__ for one in way.maps]
            last = ("Projection",) if name == "project" else REGRESSIONS
            if len(steps) != 2 or steps[0] != "Affine" or steps[1] not in last:
                raise UnfitError(f"_ways[{name!r}] has other maps")


_isomap: Final[dict[str, Field]] = {
    "residual_variance_": floats("dimensions", nan=True),
    "n_pieces_": whole(1),
    "landmarks_": optional(integers("landmarks")),
}
_given_maps: Final[dict[str, Field]] = {"up_": text(), "down_": text(), "candidates_": _pairs}
_way: Final = a(*REGRESSIONS, "Chain", inputs="columns", outputs="latents")

TABLES: Final[dict[str, Contents]] = {
    "TwoWay": two_way(_given_maps, encoders=("Chain", "Projection")),
    "SNE": two_way(
        {
            **_given_maps,
            "kl_divergence_": figure,
            "history_": floats("values", nan=True),
            "perplexity_": figure,
            "guidance_bandwidth_": figure,
            "n_iter_": whole(1),
        },
        encoders=("Chain", "Projection"),
    ),
    "UKR": two_way(
        {
            "cv_error_": figure,
            "density_threshold_": figure,
            "log_density_threshold_": figure,
            "candidates_": _starts,
            "init_": text(),
            "history_": floats("values", nan=True),
            "validation_history_": floats("checks?", nan=True),
            "n_iter_": whole(0),
        },
        encoders=("Chain", "FeatureEncoder", "Projection"),
        decoders=("PreimageDecoder",),
        sometimes={"pseudo_count_": figure, "refinement_history_": floats("sweeps?", nan=True)},
        agree=_one_feature_space,
    ),
    "DRUR": two_way(
        {
            "_ways": keyed({"map": _way, "project": _way}),
            "method_": text("map", "project"),
            "errors_": keyed({"map": figure, "project": figure}),
            "n_centers_": record(whole(0), whole(0)),
            "alpha_": record(figure, figure),
            "init_": text(),
            "candidates_": _starts,
            "history_": floats("turns", nan=True),
            "validation_history_": floats("turns", nan=True),
            "n_iter_": whole(1),
        },
        encoders=("Chain",),
        decoders=("Chain",),
        agree=_maps_of_both_ways,
    ),
    "PrincipalManifold": two_way(
        {
            "alpha_": figure,
            "alphas_": optional(floats("alphas")),
            "cv_errors_": optional(floats("alphas", "folds", nan=True)),
            "nodes_": floats("nodes?", "components"),
            "weights_": floats("nodes?", "coordinates"),
            "intercept_": floats("coordinates"),
            "loss_": a(*LOSSES, "Mahalanobis"),
            "history_": floats("values", nan=True),
            "temperature_": figure,
            "n_iter_": whole(0),
            "init_": text(),
            "candidates_": _starts,
            "domain_": a(*DOMAINS, latents="components"),
        },
        encoders=("ManifoldEncoder",),
        decoders=("ManifoldDecoder",),
        density="DomainDensity",
        sometimes={"roughness_": figure},
    ),
    "AgglomerativeIsomap": two_way(_isomap),
    "SupervisedIsomap": two_way(
        {**_isomap, "classes_": labels, "beta_": figure, "saturation_": figure}
    ),
    "AutoTwoWay": two_way(
        {
            "best_estimator_": a(
                *TWO_WAY,
                features="features",
                columns="columns",
                components="components",
                latents="latents",
            ),
            "method_": text(),
            "report_": a("RaceReport"),
            "dimension_choice_": optional(a("DimensionChoice")),
            "fitted_rows_": optional(integers("fitted rows")),
            "held_out_error_": figure,
            "held_out_codebook_error_": figure,
        },
        encoders=ENCODERS,
        decoders=DECODERS,
        density="DomainDensity",
    ),
    "KPlanes": Contents(
        learned={
            "n_features_in_": count("features"),
            "_units": a("CenteredUnits", features="features", kept="columns"),
            "_planes": a("Planes", planes="planes", axes="axes?", columns="columns"),
            "centers_": values("planes", "features"),
            "axes_": floats("planes", "axes?", "features"),
            "labels_": integers("rows"),
            "history_": floats("values", nan=True),
            "n_iter_": whole(0),
        },
        sometimes=anywhere,
    ),
    "Planes": Contents(
        {"centers": floats("planes", "columns"), "axes": floats("planes", "axes?", "columns")}
    ),
    "LogCounts": Contents(
        learned={
            "n_features_in_": count("features"),
            "target_sum_": positive_amount,
            "library_size_": positive_amount,
            "shares_": floats("features", low=0.0),
        },
        sometimes=anywhere,
    ),
    "Alignment": Contents(
        {"n_shared": whole(1), "median": number(low=0.0), "percentile_90": number(low=0.0)}
    ),
    "Compression": Contents(
        {
            **dict.fromkeys(("n_prototypes", "n_rows", "n_held_out"), whole(1)),
            **dict.fromkeys(("n_bytes", "n_bytes_before"), whole(0)),
            **dict.fromkeys(("error", "error_before"), number(low=0.0, high=LARGEST)),
        }
    ),
    "RaceReport": Contents(
        {"rows": listed(mapping(_told)), "n_held_out": whole(0), "n_codes": whole(0)}
    ),
    "UpdateReport": Contents(
        {
            **dict.fromkeys(("n_new", "n_rows", "n_regions", "n_in_regions"), whole(0)),
            **dict.fromkeys(("share_off", "density_change", "median_shift"), figure),
            **dict.fromkeys(("largest_shift", "seconds"), figure),
        }
    ),
    "DimensionChoice": Contents(
        {
            "n_components": whole(1),
            "dimensions": integers("compared?"),
            "n_codes": integers("compared?"),
            **dict.fromkeys(("scores", "gains", "tolerances"), floats("compared?", nan=True)),
            "structure": a("Structure"),
        }
    ),
    "Structure": Contents(
        {
            "n_linear": whole(0),
            **dict.fromkeys(("linear_excess", "neighbor_ratio", "neighbor_excess"), figure),
        }
    ),
    # Parameters, which `__post_init__` checks.
    "GaussNewton": Contents(
        dict.fromkeys(("max_iter", "tol", "damping", "max_halvings", "max_damping"), anything)
    ),
    "RowDescent": Contents(dict.fromkeys(("max_iter", "tol", "step", "max_halvings"), anything)),
    "Homotopy": Contents(
        dict.fromkeys(("thresholds", "max_iter", "tol", "variance", "barrier"), anything)
    ),
    "SpectralGuidance": Contents(
        dict.fromkeys(
            (
                "affinity",
                "bandwidth",
                "form",
                "schedule",
                "hold",
                "n_neighbors",
                "deflate_above",
                "n_eigenvectors",
            ),
            anything,
        )
    ),
}
