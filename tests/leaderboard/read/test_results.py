"""Cells sorted into datasets and entries, and the addresses of methods."""

import pickle
from dataclasses import replace
from functools import partial

import numpy as np

from leaderboard.read.results import collect, slug, with_groups

from ..conftest import keyed, submitted


def test_what_was_submitted_is_never_the_reference(make_cell):
    values = np.random.default_rng(0).dirichlet([1, 1], size=(3, 20))
    theirs = submitted(make_cell("erm", values, title="Calm 1.0 (self-reported)"))
    alone = collect([theirs])
    assert alone.datasets == ()
    assert "Calm 1.0 (self-reported) on made_up is left out" in alone.unreadable[0]
    both = collect([theirs, make_cell("erm", values)])
    assert [entry.title for entry in both.datasets[0].entries] == ["ERM"]


def test_the_newest_cell_counts_and_other_data_is_left_out_with_a_note(make_cell):
    rng = np.random.default_rng(0)
    newer, older = (make_cell("erm", rng.dirichlet([1, 1], size=(3, 20))) for _ in range(2))
    (dataset,) = collect([newer, older, keyed(older, problem="f" * 16)]).datasets
    assert dataset.reference.cells[99] is newer
    (note,) = dataset.notes
    assert "is left out: it ran with different data" in note


def test_a_title_that_is_the_methods_name_means_that_entry_alone(make_cell):
    values = np.random.default_rng(0).dirichlet([1, 1], size=(3, 20))
    cells = [make_cell("mine", values, title=title, params={"k": k}) for k, title in ((1, "Mine"), (2, "Mine k=2"))]
    assert collect(cells).called("mine")["made_up"].title == "Mine"
    assert collect(cells[1:]).called("mine")["made_up"].title == "Mine k=2"


def test_a_title_belongs_to_the_reference_or_else_to_the_newest_results_and_others_are_left_out_by_name(make_cell):
    values = np.random.default_rng(0).dirichlet([1, 1], size=(3, 20))
    mine, numbers = partial(make_cell, values=values, title="Mine"), partial(make_cell, values=values[..., :1])
    cells = [
        mine("mine", params={"k": 10}),
        mine("mine", params={"k": 5}),
        mine("mine", params={"k": 5}, dataset="other"),
        mine("copied", params={"k": 10}),
        numbers("mine", title="Mine", params={"k": 2}, dataset="numbers", y=values[0, :, 0].astype(np.float32)),
        make_cell("renamed", values, title="ERM"),
        make_cell("erm", values),
    ]
    results = collect(cells, unreadable=["first"])
    kept = {(d.name, e.method, e.title, repr(e.cells[99].key.params)) for d in results.datasets for e in d.entries}
    assert kept == {
        ("made_up", "mine", "Mine", "{'k': 10}"),
        ("made_up", "erm", "ERM", "{}"),
        ("numbers", "mine", "Mine", "{'k': 2}"),
    }, "a default may depend on the task"
    assert results.unreadable == (
        "first",
        "Mine on made_up, split 99 (and 1 more) is left out: newer results of this title have other hyperparameters "
        "({'k': 10}, not {'k': 5}): to see both, name them in the title and run both again",
        "Mine on made_up, split 99 is left out: it is copied, and mine has this title: change one and run it again",
        "ERM on made_up, split 99 is left out: it is renamed, and erm has this title: change one and run it again",
    )


def test_each_title_has_an_address_of_its_own_never_empty_or_too_long_for_a_file():
    titles = ["ERM", "Twin-bootstrap λ=300", "方法甲 1.0", "方法乙 1.0", "Метод", "метод 2", "x² 1.0", "𝐀"]
    titles += ["!?", "x" * 250, "x" * 251, "ERM " + "a b " * 70]
    addresses = [slug(title) for title in titles]
    assert len(set(addresses)) == len(titles)
    assert all(0 < len(address) <= 160 and address.isascii() for address in addresses)
    for alike in (("Bäume", "bäume", "BA\u0308UME"), ("Ｆorest", "forest"), ("方法", "方法 ")):
        assert len({slug(title) for title in alike}) == 1


def test_results_of_each_sampling_are_apart_and_decisions_go_by_halves_or_else_by_paper(make_cell):
    y = np.arange(30) % 2
    values = np.eye(2)[np.random.default_rng(0).integers(0, 2, (4, 30))]
    paper = [make_cell("erm", values, y=y, dataset=d) for d in ("a", "b", "c")]
    other = {s: [keyed(c, sampling=s) for c in paper] for s in ("halves", "nested")}
    whole = collect([*paper[:2], other["halves"][0], *other["nested"]])
    leading = [(part.sampling, [d.name for d in part.datasets]) for part in whole.leading()]
    assert leading == [("halves", ["a"]), ("paper", ["b"]), ("nested", ["c"])]
    assert [part.sampling for part in whole.by_sampling] == ["halves", "nested", "paper"]
    for part in whole.by_sampling:
        cells = [cell for dataset in part.datasets for cell in dataset.cells]
        assert {(cell.key.sampling, cell.predictions["id"].sampling) for cell in cells} == {(part.sampling,) * 2}
    alone = collect(other["halves"])
    assert ([part.sampling for part in alone.by_sampling], alone.datasets) == (["halves"], ())


def test_a_cell_with_other_labels_or_examples_under_the_same_fingerprint_is_left_out_by_name(make_cell):
    rng = np.random.default_rng(0)
    erm, swa, other = (make_cell(method, rng.dirichlet([1, 1], size=(3, 20))) for method in ("erm", "swa", "other"))
    p = other.predictions["id"]
    changes = {"y": 1 - p.y, "ids": np.roll(p.ids, 1), "fewer": None}
    for name, change in changes.items():
        test = p.on(np.arange(19)) if change is None else replace(p, **{name: change})
        changed = replace(other, predictions={"id": test})
        results = collect([changed, erm, swa])  # the newest, yet not what the others have
        assert [entry.method for entry in results.datasets[0].entries] == ["erm", "swa"]
        (line,) = results.unreadable
        assert "OTHER on made_up, split 99, is left out: its test examples or labels are not those" in line
        assert "--force" in line
    more = replace(other, predictions={"id": p, "ood": p})
    assert [entry.method for entry in collect([more, erm]).datasets[0].entries] == ["erm"]
    of_study = replace(other, predictions={"id": replace(p, y=1 - p.y)}).with_facts(study="members")
    assert collect([of_study, erm]).of_studies == ()


def test_a_cell_of_halves_without_a_whole_halving_is_left_out_by_name(make_cell):
    values = np.random.default_rng(0).dirichlet([1, 1], size=(3, 20))
    seeds = {"erm": (1, 2, 3), "swa": (1, 3, 5), "other": (2, 3, 6)}
    cells = [keyed(make_cell(m, values, seeds=of), sampling="halves", seeds=of) for m, of in seeds.items()]
    results = collect(cells)
    assert [entry.method for entry in results.others[0].datasets[0].entries] == ["erm"]
    assert len(results.unreadable) == 2
    assert "SWA on made_up, split 99, is left out: of its train seeds 1,3,5, no two are" in results.unreadable[0]
    assert "--seeds 20 as its seeds: churn run --method swa --dataset made_up" in results.unreadable[0]


def test_the_groups_of_a_file_without_their_columns_are_none(make_cell):
    results = collect([make_cell("erm", np.full((3, 20, 2), 0.5))])
    assert with_groups(results, {"made_up": "a,b\n1,2\n"}).datasets[0].groups == {}
    assert with_groups(results, {"made_up": "id,group\nm0001,x\nm0002\n"}).datasets[0].groups == {"m0001": "x"}


def test_other_processes_get_all_of_a_dataset_but_reports_and_what_was_computed(make_cell):
    told = replace(make_cell("erm", np.full((3, 20, 2), 0.5)), reports={"health.txt": "told"})
    dataset = replace(collect([told]).datasets[0], notes=("a note",), groups={"one": "a group"})
    dataset.computed["boards"] = ()
    sent = pickle.loads(pickle.dumps(dataset))
    known = [(of.name, of.notes, of.groups, [entry.title for entry in of.entries]) for of in (sent, dataset)]
    assert known[0] == known[1]
    assert (sent.computed, sent.cells[0].reports) == ({}, {})
    assert dataset.cells[0].reports == told.reports
