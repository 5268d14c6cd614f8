"""What the README shows is what happens."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", README.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def test_the_session_on_the_command_line_is_genuine():
    (session,) = [text for _, text in BLOCKS if text.startswith("$ giantstep")]
    command, expected = session.split("\n", 1)
    program = Path(sys.executable).parent / "giantstep"
    words = [str(program), *shlex.split(command)[2:]]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == expected


def test_the_lines_of_python_run_and_print_what_is_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (program,) = [text for language, text in BLOCKS if language == "python"]
    names: dict = {}
    exec(program, names)
    assert names["theory"].test_error.sizes == {"alpha": 3}
    assert (tmp_path / "curve.png").exists()
    (shown,) = [text for _, text in BLOCKS if text.startswith("statistic")]
    assert capsys.readouterr().out == shown


def test_every_option_and_file_that_it_names_exists():
    text = README.read_text(encoding="utf-8")
    for path in re.findall(r"\]\(((?!https?:)[^)]+)\)", text):
        assert (README.parent / path).exists(), path
    commands = {words.split()[0] for words in re.findall(r"`giantstep ([a-z][^`]*)`", text)}
    from giantstep.cli import make_app

    assert commands <= set(make_app())
