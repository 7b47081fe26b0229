"""One sentence for each test of a peer that an estimator of ours does not pass.

Keys are the column (see `COLUMNS`) and the name of the test. A test that fails without an entry, or
an entry whose test passes in all its cases, makes the command exit with 1.
"""

OWN_SIGNATURE = (
    "`reconstruction_error(X)` is the distance of rows to the manifold here, and needs rows; the "
    "peer's has no argument and compares kernels."
)
AT_MOST_FEATURES = (
    "asks for more components than the data have features, which is an error here: latents must "
    "have a way back."
)
OTHER_WARNING = (
    "expects a warning with the peer's words: joined pieces are reported here too, with others."
)
ONE_FEATURE = "asks for two components of one feature: latents must have a way back here."
SPARSE_GRAPH = (
    'passes a sparse graph as "precomputed" distances, which is a TypeError here: a model needs '
    "all pairs to map new rows."
)
NO_MAP = "`transform` is a map learned from the embedding, not the peer's formula."
FIT_TRANSFORM = (
    "compares `fit_transform` of two fits: it is `transform(X)` here, by the learned map; "
    "`embedding_` has the peer's latents."
)
OTHER_WORDS = "expects an error with the peer's words: an error is raised here too, with others."
ALWAYS_BACK = "expects an error of `inverse_transform`: every model has a way back here."
FLOAT64 = "expects float32 from float64 data too: latents have the type of the data here."
OWN_LOG = "reads lines that the peer prints: here `verbose` writes to `logging`."
PERPLEXITY_ONE = "uses a perplexity of 1; `SNE` needs more than 1."
NOT_KERNEL_PCA = (
    "demands the result of kernel PCA: `UKR` starts from it and then lowers the error of a "
    "nonlinear map."
)
TOO_FEW_ROWS = (
    "fits two components to two rows, which is an error here: a map needs more rows than "
    "components."
)
NOT_ZERO = "expects no components for identical rows: models have at least one here."

EMPTY = {
    ("t_sne, own", "test_min_grad_norm"): (
        "reads the norms of gradients that the peer prints: nothing is printed here."
    ),
}
"""Tests that pass because they find nothing to check. They count as not applicable."""

FAILS = {
    ("isomap, own", "test_isomap_reconstruction_error"): OWN_SIGNATURE,
    ("isomap, own", "test_transform"): AT_MOST_FEATURES,
    ("isomap, own", "test_pipeline_with_nearest_neighbors_transformer"): SPARSE_GRAPH,
    ("isomap, own", "test_different_metric"): (
        "one case of five: its metric is no distance (a row is not at distance zero from itself), "
        "which is an error here."
    ),
    ("isomap, own", "test_multiple_connected_components"): ONE_FEATURE,
    ("isomap, own", "test_multiple_connected_components_metric_precomputed"): OTHER_WARNING,
    ("isomap, wrapped", "test_isomap_reconstruction_error"): OWN_SIGNATURE,
    ("isomap, wrapped", "test_transform"): AT_MOST_FEATURES,
    ("isomap, wrapped", "test_pipeline_with_nearest_neighbors_transformer"): SPARSE_GRAPH,
    ("isomap, wrapped", "test_isomap_fit_precomputed_radius_graph"): SPARSE_GRAPH,
    ("isomap, wrapped", "test_multiple_connected_components"): ONE_FEATURE,
    ("isomap, wrapped", "test_multiple_connected_components_metric_precomputed"): SPARSE_GRAPH,
    ("t_sne, own", "test_n_components_range"): OTHER_WORDS,
    ("t_sne, own", "test_early_exaggeration_used"): PERPLEXITY_ONE,
    ("t_sne, own", "test_max_iter_used"): PERPLEXITY_ONE,
    ("t_sne, own", "test_verbose"): OWN_LOG,
    ("t_sne, own", "test_n_iter_without_progress"): OWN_LOG,
    ("t_sne, own", "test_64bit"): FLOAT64,
    ("t_sne, own", "test_tsne_perplexity_validation"): (
        "expects an error for a perplexity of all rows: `SNE` lowers it to a third of the rows and "
        "says so in `perplexity_`."
    ),
    ("t_sne, wrapped", "test_fit_transform_csr_matrix"): (
        "one start of four: `fit_transform` is `transform(X)` here, whose neighbors of 50 random "
        "rows differ from those of `embedding_`."
    ),
    ("t_sne, wrapped", "test_bad_precomputed_distances"): OTHER_WORDS,
    ("t_sne, wrapped", "test_high_perplexity_precomputed_sparse_distances"): OTHER_WORDS,
    ("t_sne, wrapped", "test_sparse_precomputed_distance"): SPARSE_GRAPH,
    ("t_sne, wrapped", "test_non_positive_computed_distances"): OTHER_WORDS,
    (
        "t_sne, wrapped",
        "test_pca_initialization_not_compatible_with_precomputed_kernel",
    ): OTHER_WORDS,
    ("t_sne, wrapped", "test_n_components_range"): OTHER_WORDS,
    ("t_sne, wrapped", "test_n_iter_without_progress"): (
        "changes private attributes of the peer, which do not reach the clone that is fitted."
    ),
    ("t_sne, wrapped", "test_64bit"): FLOAT64,
    ("t_sne, wrapped", "test_tsne_with_different_distance_metrics"): FIT_TRANSFORM,
    ("t_sne, wrapped", "test_tsne_with_mahalanobis_distance"): FIT_TRANSFORM,
    ("kernel_pca, own", "test_kernel_pca_invalid_parameters"): ALWAYS_BACK,
    ("kernel_pca, own", "test_kernel_pca_sparse"): ALWAYS_BACK,
    ("kernel_pca, own", "test_kernel_pca_linear_kernel"): NOT_KERNEL_PCA,
    ("kernel_pca, own", "test_leave_zero_eig"): TOO_FEW_ROWS,
    ("kernel_pca, own", "test_kernel_pca_precomputed"): (
        "demands six equal decimals from data and from their Gram matrix: the descents of `UKR` "
        "stop within a tolerance, here a hundredth of the spread apart."
    ),
    ("kernel_pca, own", "test_kernel_pca_precomputed_non_symmetric"): (
        "passes a Gram matrix that is not symmetric, which is an error here."
    ),
    ("kernel_pca, own", "test_nested_circles"): NOT_KERNEL_PCA,
    ("kernel_pca, own", "test_precomputed_kernel_not_psd"): OTHER_WORDS,
    ("kernel_pca, own", "test_kernel_pca_solvers_equivalence"): AT_MOST_FEATURES,
    ("kernel_pca, own", "test_kernel_pca_inverse_transform_reconstruction"): AT_MOST_FEATURES,
    ("kernel_pca, wrapped", "test_kernel_pca_invalid_parameters"): ALWAYS_BACK,
    ("kernel_pca, wrapped", "test_kernel_pca_sparse"): ALWAYS_BACK,
    ("kernel_pca, wrapped", "test_kernel_pca_linear_kernel"): NO_MAP,
    ("kernel_pca, wrapped", "test_remove_zero_eig"): NOT_ZERO,
    ("kernel_pca, wrapped", "test_gridsearch_pipeline"): (
        "demands that a linear classifier has no error on held-out rows: the learned encoder is "
        "chosen by the reconstruction error, and misplaces some of them."
    ),
    ("kernel_pca, wrapped", "test_leave_zero_eig"): TOO_FEW_ROWS,
    ("kernel_pca, wrapped", "test_kernel_pca_precomputed"): NO_MAP,
    ("kernel_pca, wrapped", "test_kernel_pca_solvers_equivalence"): AT_MOST_FEATURES,
    ("kernel_pca, wrapped", "test_kernel_pca_inverse_transform_reconstruction"): AT_MOST_FEATURES,
    ("kernel_pca, wrapped", "test_kernel_pca_raise_not_fitted_error"): ALWAYS_BACK,
}
