"""The figures of ``paper/paper.md``, from the records that the benchmarks keep.

``python -m benchmarks.paper_figures`` writes them between two marks. It measures nothing.
"""

from statistics import mean

from benchmarks.harness import ROOT, kept, sections
from benchmarks.rivals import goal, published
from benchmarks.rivals.page import verdicts_of

BEGIN = "<!-- figures: written by python -m benchmarks.paper_figures; do not edit -->"
END = "<!-- figures: end -->"
PAPER = ROOT / "paper" / "paper.md"
RIVALS = ROOT / "benchmarks" / "rivals" / "results.json"
IMPUTED = ROOT / "benchmarks" / "imputation" / "results.json"
OURS = "UKR"

ON_MNIST = (
    "Mean squared error of a pixel of MNIST from two latents. Published figures are those of "
    "@sainburg2021parametric for all 10,000 test images; ours are those of {held_out:,} of them."
)


def section(results, imputed):
    """Return the paragraphs and the table.

    Parameters
    ----------
    results : dict
        The record of the comparison with other packages.
    imputed : dict
        The records of the imputation of removed cells, by data set.
    """
    parts = [goal.count(verdicts_of(results)), gaps(imputed)]
    found = published.mnist_table(results)
    if found:
        held_out = next(one["held_out"] for one in results["sets"] if one["name"] == "MNIST")
        parts += [found, "Table: " + ON_MNIST.format(held_out=held_out)]
    return "\n\n".join(parts)


def gaps(imputed):
    """Return the sentence on removed cells: where our default estimator is the best of all."""
    patterns, first, ratios = 0, 0, []
    for record in imputed.values():
        cells = [one for one in record["figures"]["cells"] if one["status"] == "ok"]
        for pattern in dict.fromkeys(one["pattern"] for one in cells):
            errors = {}
            for one in cells:
                if one["pattern"] == pattern:
                    errors.setdefault(one["method"], []).append(one["rmse"])
            means = {method: mean(values) for method, values in errors.items()}
            ours, best = means.pop(OURS), min(means.values())
            patterns, first = patterns + 1, first + (ours < best)
            ratios.append(ours / best)
    return (
        f"Cells that were removed from {len(imputed)} data sets in {patterns} patterns are filled "
        f"with a lower error than by every other imputer that finished in ten times our seconds "
        f"(nearest neighbors, iterated PCA, chained equations, column means) on {first} of the "
        f"{patterns}, at {min(ratios):.2f} to {max(ratios):.2f} times the error of the best one."
    )


def main():
    """Write the section."""
    written = section(kept.read(RIVALS), kept.read(IMPUTED))
    sections.write_section(PAPER, BEGIN, END, written)


if __name__ == "__main__":
    main()
