"""What became of each test: the cases of a test together, with a reason."""

from benchmarks.peers.plugin import FAILED, NOT_APPLICABLE, PASSED, SKIPPED
from benchmarks.peers.reasons import EMPTY, FAILS


def judged(name, cases):
    """Return a record for each test of a column: its outcome, counts of cases, and the reason.

    A test with a case that fails, fails. Of the others, a test passes if one of its cases does:
    those that do not apply use what our estimators do not have.
    """
    tests = list(dict.fromkeys(case["test"] for case in cases))
    return [_of_test(name, test, [one for one in cases if one["test"] == test]) for test in tests]


def _of_test(name, test, cases):
    counts = {
        outcome: sum(case["outcome"] == outcome for case in cases)
        for outcome in (PASSED, FAILED, NOT_APPLICABLE)
    }
    outcome = next(one for one in (FAILED, PASSED, NOT_APPLICABLE) if counts[one])
    given = [case["reason"] for case in cases if case["outcome"] == outcome]
    given.sort(key=SKIPPED.__eq__)
    return with_reason(
        name,
        {
            "test": test,
            "outcome": outcome,
            "cases": counts,
            "reason": given[0],
            "error": given[0] if outcome == FAILED else "",
        },
    )


def with_reason(name, one):
    """Return the record of a test with the reason that is known now."""
    key = (name, one["test"])
    if one["outcome"] == FAILED:
        return one | {"reason": FAILS.get(key, "")}
    if key in EMPTY:
        none = {PASSED: 0, FAILED: 0, NOT_APPLICABLE: sum(one["cases"].values())}
        return one | {"outcome": NOT_APPLICABLE, "reason": EMPTY[key], "cases": none}
    return one


def wrong(name, tests):
    """Return sentences on failures without a reason, and on reasons of tests that do not fail."""
    found = {one["test"]: one for one in tests}
    said = [
        f"{name}, {test}: fails without a reason: {one['error']}"
        for test, one in found.items()
        if one["outcome"] == FAILED and not one["reason"]
    ]
    stale = [test for column, test in FAILS if column == name]
    return said + [
        f"{name}, {test}: does not fail, so remove its reason"
        for test in stale
        if test in found and found[test]["outcome"] != FAILED
    ]
