"""The shell scripts of the workflows, in a repository of their own."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from benchmark.files import CHECKOUT

FILES = {"submission.yml": b"a", "predictions/halves/bace.parquet": b"c\0d", "predictions/paper/bace.parquet": b"e"}


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=x", "-c", "user.email=x@x"]
    done = subprocess.run(["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    (folder / "submissions").mkdir(parents=True)
    (folder / "submissions/README.md").write_text("x")
    git(folder, "init", "-q")
    commit(folder)
    for name, content in FILES.items():
        path = folder / "submissions/mine/1.0" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def commit(folder):
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")


def run(script, folder, *places, **environment):
    """Run a script on the commit of what is in a repository."""
    commit(folder)
    base, head = git(folder, "rev-list", "--max-parents=0", "HEAD"), git(folder, "rev-parse", "HEAD")
    words = [CHECKOUT / ".github/scripts" / script, base, head, *places]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, env={**os.environ, **environment})


def judge(folder, out, **environment):
    return run("judge", folder, out / "out", out / "comment.md", **environment)


def test_the_data_files_of_a_proposal_are_taken_and_nothing_else(repository, tmp_path):
    (repository / "setup.py").write_text("raise SystemExit")
    done = run("take-data", repository, tmp_path / "out")
    assert (done.returncode, done.stdout) == (0, "mine/1.0\n")
    taken = {path.relative_to(tmp_path / "out/mine/1.0").as_posix(): path.read_bytes()
             for path in (tmp_path / "out").rglob("*") if path.is_file()}  # fmt: skip
    assert taken == FILES


def test_proposals_of_other_things_are_refused(repository, tmp_path):
    mine = repository / "submissions/mine/1.0"

    def refused(message):
        done = run("take-data", repository, tmp_path / "out")
        assert done.returncode == 1
        assert message in done.stderr

    (mine / "link").symlink_to("/etc/passwd")
    refused("expected regular files only, found blob with mode 120000")
    (mine / "link").unlink()
    (mine / "run.py").write_text("x")
    refused("expected only submission.yml")
    (mine / "run.py").unlink()
    os.chmod(mine / "submission.yml", 0o755)
    refused("mode 100755")
    os.chmod(mine / "submission.yml", 0o644)
    (repository / "submissions/x; id").mkdir()
    (repository / "submissions/x; id/y").write_text("x")
    refused("one submission at a time")
    for path in sorted((repository / "submissions").rglob("*"), reverse=True):
        path.unlink() if path.is_file() and path.name != "README.md" else None
    refused("nothing below submissions/ is changed")


@pytest.mark.slow
def test_a_good_proposal_gets_a_comment_with_its_place_among_published_results(repository, good, tmp_path):
    shutil.rmtree(repository / "submissions/mine")
    shutil.copytree(good, repository / "submissions/forest/1.0")
    done = judge(repository, tmp_path, PYTHONPATH=str(CHECKOUT))
    assert (done.returncode, done.stderr) == (0, "")
    comment = (tmp_path / "comment.md").read_text()
    assert re.search(r"\*\*B3DB measured, halves&#58; place \d+ of 1\d by matched churn\*\*", comment)
    rows = [line.split(" | ")[0].rstrip() for line in comment.splitlines() if line.startswith("| ")]
    assert sorted(rows[2:]) == ["| ERM", "| Forest elsewhere 1.0 &#40;self-reported&#41;", "| Twin-bootstrap λ=100"]


def test_a_refused_proposal_gets_a_comment_that_says_why(repository, tmp_path):
    (repository / "submissions/mine/1.0/``` @all").write_text("x")
    assert judge(repository, tmp_path).returncode == 1
    comment = (tmp_path / "comment.md").read_text()
    assert "expected only submission.yml" in comment
    assert comment.count("```") == 2


def test_no_workflow_checks_out_or_runs_the_proposal():
    text = (CHECKOUT / ".github/workflows/submission.yml").read_text()
    assert "pull_request.head.ref" not in text
    assert "ref: ${{ github.event.pull_request.base.sha }}" in text
    runs = [line for line in text.splitlines() if "run:" in line]
    assert not any("${{" in line for line in runs)  # what strangers wrote is never part of a command


TRIALS = {"ci.yml": {"wheel"}, "release.yml": {"try"}, "audit.yml": {"audit"}}
"""Jobs that install whatever is newest, to find what users will meet and what is known to be vulnerable."""


@pytest.mark.parametrize("workflow", sorted((CHECKOUT / ".github/workflows").glob("*.yml")), ids=lambda path: path.name)
def test_a_workflow_pins_actions_to_commits_and_installs_from_no_index_what_was_checked_by_hash(workflow):
    text = workflow.read_text(encoding="utf-8")
    actions = re.findall(r"uses: (\S+)", text)
    assert actions
    assert [action for action in actions if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action)] == []
    assert "index-url" not in text
    wheels = '.github/scripts/wheels "$RUNNER_TEMP/wheels"'
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "${{ runner.temp }}/wheels"}
    content = yaml.safe_load(text)
    for name, job in content["jobs"].items():
        if name in TRIALS.get(workflow.name, ()):
            assert content["permissions"] == {"contents": "read"}
            assert not {"permissions", "environment", "outputs"} & job.keys()
            assert not re.search(r"upload-artifact|secrets\.|cache", yaml.safe_dump(job))
            continue
        commands = [step["run"] for step in job["steps"] if "run" in step]
        installs = [step for step in job["steps"] if re.search(r"pip install|\.ci/run", step.get("run", ""))]
        assert [step["env"] for step in installs] == [offline] * len(installs)
        assert all(wheels in commands[: commands.index(step["run"])] for step in installs)
    assert "--require-hashes" in (CHECKOUT / ".github/scripts/wheels").read_text(encoding="utf-8")
