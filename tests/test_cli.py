import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from twofold import UKR, __version__, cli


def test_demo(tmp_path):
    result = CliRunner().invoke(cli.cli, ["demo", "-o", str(tmp_path / "out"), "--quiet"])
    assert result.exit_code == 0, result.output
    assert "reconstruction error" in result.stdout
    assert "1-NN accuracy" in result.stdout
    for name in ("latent-map.png", "decoded-digits.png"):
        picture = tmp_path / "out" / name
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert 10_000 < picture.stat().st_size < 400_000


def test_demo_says_where_it_cannot_write(tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = CliRunner().invoke(cli.cli, ["demo", "-o", str(tmp_path / "file" / "out")])
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert "file" in result.stderr


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_demo_says_what_it_could_not_write(tmp_path, monkeypatch):
    (tmp_path / "latent-map.png").mkdir()
    monkeypatch.setattr(cli, "UKR", lambda **_: UKR(init="pca", homotopy=False, max_iter=2))
    result = CliRunner().invoke(cli.cli, ["demo", "-o", str(tmp_path), "--quiet"])
    assert result.exit_code == 1
    assert "cannot write to" in result.stderr


def test_demo_needs_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = CliRunner().invoke(cli.cli, ["demo", "-o", str(tmp_path)])
    assert result.exit_code == 1
    assert "twofold[plot]" in result.stderr


def run_main(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["twofold", *arguments])
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    return exit_.value.code


def test_exit_codes(monkeypatch, capsys):
    assert run_main(monkeypatch, "--nonsense") == 2
    assert "No such option" in capsys.readouterr().err

    def interrupt(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.demo, "callback", interrupt)
    assert run_main(monkeypatch, "demo") == 130
    assert "interrupted" in capsys.readouterr().err

    def fill_the_disk(**_):
        raise OSError("No space left on device")

    monkeypatch.setattr(cli.demo, "callback", fill_the_disk)
    assert run_main(monkeypatch, "demo") == 1
    assert capsys.readouterr().err == "Error: No space left on device\n"

    def leave(**_):
        raise click.exceptions.Exit(3)

    monkeypatch.setattr(cli.demo, "callback", leave)
    assert run_main(monkeypatch, "demo") == 3
    monkeypatch.setattr(cli.demo, "callback", lambda **_: None)
    assert run_main(monkeypatch, "demo") == 0


def test_installed_command():
    done = subprocess.run(
        [sys.executable, "-m", "twofold", "--version"], capture_output=True, text=True, check=True
    )
    assert __version__ in done.stdout
