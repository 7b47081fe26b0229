"""What a release states in several places agrees, and its tools work."""

import importlib.util
import re
import shutil
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import twofold

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TAKEN = ("src/twofold/_version.py", "CHANGELOG.md", "CITATION.cff")


@pytest.fixture(scope="module")
def release():
    spec = importlib.util.spec_from_file_location("release", ROOT / ".ci" / "release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def copied(tmp_path):
    for name in TAKEN:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    changelog = "# Changelog\n\n## Unreleased\n\n### Added\n- A line.\n\n## 0.0.1 - 2020-01-01\n"
    (tmp_path / "CHANGELOG.md").write_text(changelog, encoding="utf-8")
    return tmp_path


def test_one_place_states_the_version(release):
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc|\.dev)\d+)?", twofold.__version__)
    assert release.version_of(ROOT) == twofold.__version__
    assert SETTINGS["project"]["dynamic"] == ["version"]
    assert SETTINGS["tool"]["hatch"]["version"]["path"] == TAKEN[0]
    others = [path for path in ("README.md", "docs/conf.py") if _states(path, twofold.__version__)]
    assert others == []


def _states(path, version):
    return f'"{version}"' in (ROOT / path).read_text(encoding="utf-8")


def test_the_citation_agrees():
    yaml = pytest.importorskip("yaml")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == twofold.__version__
    assert cited["license"] == SETTINGS["project"]["license"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## (\S+) - (\d{4}-\d\d-\d\d)$", changelog, re.MULTILINE)
    assert changelog.count("\n## Unreleased\n") == 1
    if twofold.__version__ in dict(released):
        assert released[0] == (cited["version"], str(cited["date-released"]))


def test_the_installed_package_has_the_license():
    distribution = metadata.distribution("twofold")
    assert distribution.metadata["License-Expression"] == "BSD-3-Clause"
    assert distribution.metadata.get_all("License-File") == ["LICENSE"]


def test_cut(release, copied):
    version = twofold.__version__
    assert release.disagreements(copied, "v9") == [
        f"the tag is v9, the version {version}",
        f"CHANGELOG.md has 0 sections {version} with a date",
    ]
    assert release.cut(copied, "2026-11-19") == f"## {version} - 2026-11-19"
    text = (copied / "CHANGELOG.md").read_text(encoding="utf-8")
    assert text == (
        f"# Changelog\n\n## Unreleased\n\nNothing yet.\n\n## {version} - 2026-11-19\n\n"
        "### Added\n- A line.\n\n## 0.0.1 - 2020-01-01\n"
    )
    assert release.disagreements(copied, f"v{version}") == []
    with pytest.raises(SystemExit, match="already"):
        release.cut(copied, "2026-11-20")
    (copied / TAKEN[0]).write_text('__version__ = "77.0"\n', encoding="utf-8")
    with pytest.raises(SystemExit, match="nothing to release"):
        release.cut(copied, "2026-11-20")
    assert "CITATION.cff does not have version 77.0" in release.disagreements(copied, "v77.0")


def test_a_date_replaces_the_former_one(release, copied):
    release.cut(copied, "2026-11-19")
    changelog = copied / "CHANGELOG.md"
    text = changelog.read_text(encoding="utf-8").replace("Nothing yet.", "### Fixed\n- Another.")
    changelog.write_text(text, encoding="utf-8")
    (copied / TAKEN[0]).write_text('__version__ = "77.0"\n', encoding="utf-8")
    release.cut(copied, "2027-01-02")
    cited = (copied / "CITATION.cff").read_text(encoding="utf-8")
    assert "version: 77.0\ndate-released: 2027-01-02\n" in cited
    assert cited.count("date-released") == 1
    assert release.disagreements(copied, "v77.0") == []


def bounds():
    """Return the lower bound of each dependency of the tests, by name."""
    project = SETTINGS["project"]
    extras = project["optional-dependencies"]
    wanted = list(project["dependencies"]) + list(extras["test"])
    for extra in re.search(r"\[(.*)\]", extras["test"][0]).group(1).split(","):
        wanted += extras[extra]
    found = {}
    for one in wanted:
        match = re.match(r"([A-Za-z0-9-]+)(?:\[[^\]]*\])?>=([0-9.]+)", one)
        if match:
            found[match.group(1)] = match.group(2)
    return found


def test_the_lowest_versions_are_the_bounds():
    lines = (ROOT / ".ci" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    lowest = dict(line.split("==") for line in lines if "==" in line and line[0] != "#")
    wanted = bounds()
    assert set(lowest) == set(wanted)
    for name, version in wanted.items():
        parts, exact = version.split("."), lowest[name].split(".")
        assert exact[: len(parts)] == parts, name
        assert not any(int(part) for part in exact[len(parts) :]), name


def test_every_dependency_has_a_lower_bound_and_no_upper_one():
    project = SETTINGS["project"]
    everything = [*project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        everything += extra
    for one in everything:
        assert ">=" in one or one.startswith("twofold["), one
        assert "<" not in one.split(";")[0], f"{one}: no upper bounds"


def test_the_recipe_agrees():
    yaml = pytest.importorskip("yaml")
    path = ROOT / "recipe" / "recipe.yaml"
    if not path.is_file():
        pytest.skip("the recipe is not part of the sdist")
    recipe = yaml.safe_load(path.read_text(encoding="utf-8"))
    project = SETTINGS["project"]
    assert recipe["context"]["version"] == twofold.__version__
    assert f">={recipe['context']['python_min']}" == project["requires-python"]
    wanted = {re.split(r"[;\[]", one)[0].strip() for one in project["dependencies"]}
    wanted |= set(project["optional-dependencies"]["cli"])
    given = {one.replace(" ", "") for one in recipe["requirements"]["run"][1:]}
    assert given == wanted
    assert recipe["about"]["license"] == project["license"]


def test_the_workflows_run_sessions_that_exist():
    folder = ROOT / ".github" / "workflows"
    if not folder.is_dir():
        pytest.skip("the workflows are not part of the sdist")
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.yml")))
    named = {name for line in re.findall(r"nox -s ([\w ]+)", text) for name in line.strip().split()}
    defined = set(
        re.findall(r"^def (\w+)\(session", (ROOT / "noxfile.py").read_text(), re.MULTILINE)
    )
    assert named - defined == set()
    assert {"lowest", "docs", "build", "sdist", "pyright"} <= named
    for used in re.findall(r"uses: (\S+)", text):
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", used), f"{used}: pin actions by commit"
    tested = re.findall(r"python: \[(.*)\]", text)[0].replace('"', "").split(", ")
    classifiers = " ".join(SETTINGS["project"]["classifiers"])
    assert tested == re.findall(r":: (3\.\d+)", classifiers)
