"""Classes in predictions and true values: their names, spellings and numbers, and the order of their probabilities."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from benchmark.data.checks.missing import folded
from benchmark.errors import UserError
from leaderboard.scoring.files import number
from leaderboard.scoring.roles import FEW, Options, Part, natural, negative, plain, typed, words

MOST_CLASSES = 1000


def with_classes(parts: Sequence[Part]) -> str:
    """Return what to say if a single column is only 0 and 1, as predicted classes are, and other probabilities not."""
    names = [(part, name) for part in parts for name in part.role.predicted]
    whole = [
        not part.role.classes and bool(np.isin(part.table.columns[name].numbers, (0, 1)).all()) for part, name in names
    ]
    if all(whole) or not any(whole):
        return ""
    part, name = names[whole.index(True)]
    return (
        f"{name} in {part.table.name} is only 0 and 1, so that all are compared as classes (--kind probabilities "
        "compares them as probabilities)"
    )


def labels_of(part: Part, name: str) -> list[frozenset[str]]:
    codes, texts = part.table.columns[name].encoded
    return [frozenset(map(plain, texts[np.unique(of_run)])) for of_run in codes[part.grid.at]]


def coded(
    parts: Sequence[Part], kind: str, columns: dict[frozenset[str], str], true: set[str], options: Options
) -> tuple[tuple[str, ...], dict[str, int], dict[frozenset[str], dict[str, int]]]:
    """Return the classes, the index of each true one, and that of each label in ``columns`` with the same labels.

    Raises UserError if they do not match.
    """
    name, given = parts[0].table.name, tuple(map(plain, options.classes))
    if kind == "values" and given:
        raise UserError(f"--classes {','.join(given)}: {name} has values: leave it out, or say --kind labels")
    if kind == "values":
        return (), {}, {}
    if kind == "labels":
        return _labels_coded(parts[0].table.name, given, columns, true)
    of_probabilities, of_true = _probabilities_coded(parts, given, true, options)
    return of_probabilities, of_true, {}


def _labels_coded(
    name: str, given: tuple[str, ...], columns: dict[frozenset[str], str], true: set[str]
) -> tuple[tuple[str, ...], dict[str, int], dict[frozenset[str], dict[str, int]]]:
    """Return what ``coded`` does for predictions that are labels."""
    labels: set[str] = set().union(*columns)
    classes = given or tuple(sorted(labels | true, key=natural))
    odd = min(labels - true, key=natural, default="")
    if len(true) > 1 and not given and number(odd) < 0 and labels == true | {odd} and all(map(str.isdigit, true)):
        raise UserError(
            f"{name}: some predictions are {odd}, and no true value is: if {odd} means no prediction, leave such "
            f"rows out and add --common-rows; if it is a class, --classes={','.join(classes)}"
        )
    if not given:
        check_spelling(name, labels | true)
        for texts in (true, *columns):
            _check_mixed(columns.get(frozenset(texts), name), texts)
    spelled = [texts for texts in (labels, true) if not _counts(texts)]
    joint = labels | true == {"0", "1"} or (len(spelled) > 1 and bool(labels & true))
    example = sorted(labels | true if joint else [*spelled, labels][0], key=natural)
    mismatch = _mismatch(name, {"the predicted classes": labels, "the true ones": true}, example)
    if not given and true and not (labels <= true or true <= labels):
        raise mismatch
    if len(classes) > MOST_CLASSES:
        raise UserError(f"{name}: more than {MOST_CLASSES} different class labels: for values, use --kind values")
    if not given:
        _check_labels(columns, true)
    if len(classes) < 2:
        classes = (*classes, f"not {classes[0]}")
    by_name = labels <= set(classes)  # else each column may have names or numbers of the classes
    sure = labels | true <= set(classes) and not labels | true <= set(map(str, range(len(classes))))
    of_true = _index(name, true, classes, sure)
    of_labels = {}
    for mine, table in columns.items():
        beside = set().union(*(texts for texts, where in columns.items() if where == table))
        index = _index(table, labels if by_name else beside, classes, sure)
        of_labels[mine] = {text: index[text] for text in mine}
    predicted = {code for index in of_labels.values() for code in index.values()}
    if true and predicted.isdisjoint(of_true.values()):
        raise mismatch  # no prediction could be right
    return classes, of_true, of_labels


def _probabilities_coded(
    parts: Sequence[Part], given: tuple[str, ...], true: set[str], options: Options
) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return the classes, and the index of each true one, for columns of probabilities or margins."""
    name = next((part.table.name for part in parts if part.role.classes), parts[0].table.name)
    every = {part.role.classes for part in parts if part.role.classes} or {("0", "1")}
    if len(every) > 1:
        both = " and ".join(map(str, sorted(every)))
        raise UserError(f"{name}: the tables have probabilities of {both}: expected the same classes")
    (own,) = every
    if given and len(given) != len(own):
        raise UserError(f"--classes {','.join(given)}: expected {len(own)} classes, as there are probabilities")
    shared = set.intersection(*(set(words(column)) for part in parts for column in part.role.predicted))
    named = {text for text in true if text.lower() in shared}
    if own == ("0", "1") and not given and len(true) == 2 and len(named) == 1 and "".join(true).isalpha():
        own = (*(true - named), *named)  # as prob_active is that of active
    meant = [[text for text in true if {*words(name)} <= {*words(text)}] for name in own]
    if not true <= set(own) and sorted(meant) == sorted([text] for text in true):
        own = tuple(text for (text,) in meant)  # as p_Active is that of active, and p_low that of low activity
    if not given and not true <= set(own):
        numbered = all(map(str.isdigit, true)) and not all(map(str.isdigit, own))
        role, there = parts[0].role, list(parts[0].table.columns)
        placed = sorted(role.classes, key=lambda text: there.index(role.predicted[role.classes.index(text)]))
        example = sorted(true, key=natural) if len(true) == len(own) and not numbered else placed or list(own)
        raise _mismatch(name, {"the probabilities' classes": own, "the true ones": true}, example)
    if not set(given) <= set(own) or (given and not any(part.role.classes for part in parts)):
        _check_order(parts, own, options)
        return given, _index(name, true, given, true <= set(given))
    order = own if true <= set(own) else given  # where the columns have the names, --classes numbers them
    return own, {text: own.index(order[i]) for text, i in _index(name, true, order).items()}


def _check_order(parts: Sequence[Part], own: Sequence[str], options: Options) -> None:
    """Raise UserError if columns of probabilities, which --classes names anew, are in no known order.

    Known is that of numbers, that of --probabilities or --logits, and that of the table if it is alphabetical.
    """
    if options.probabilities or options.logits or all(map(str.isdigit, own)):
        return
    for part in parts:
        placed = [name for name in part.table.columns if name in part.role.predicted]
        if len(placed) > 1 and placed != list(part.role.predicted):
            raise UserError(
                f"{part.table.name}: --classes {','.join(options.classes)}: the order of the columns of probabilities "
                f"is unknown: say it with --probabilities, e.g. --probabilities {typed(placed)}"
            )


def check_spelling(name: str, texts: set[str]) -> None:
    """Raise UserError for two classes that differ only in what people do not mean by them, as ``folded`` says."""
    known: dict[str, str] = {}
    for text in sorted(texts):
        if (other := known.setdefault(folded(text), text)) != text:
            raise UserError(
                f"{name}: the classes {other!r} and {text!r} differ in capitals, blanks or the encoding of "
                "accents only: write them alike or, if they are two classes, name all with --classes"
            )


def _check_mixed(name: str, texts: Collection[str]) -> None:
    """Raise UserError for a column with the numbers of two classes as well as words, which may mean the same."""
    words_in = sorted(text for text in texts if np.isnan(number(text)))
    if words_in and (digits := sorted({"0", "1"}.intersection(texts))):
        raise UserError(
            f"{name}: the classes are numbers ({','.join(digits)}) and words ({','.join(words_in[:6])}) in one column: "
            "write them alike or, if all are different classes, name them with --classes"
        )


def _check_labels(columns: Mapping[frozenset[str], str], true: set[str]) -> None:
    """Raise UserError if runs of predicted labels may write the same classes differently, as 0, 1 and 1, 2.

    Runs may lack some classes, so it is no sign of this if the true classes, or those of another run, include all; nor,
    of more than two, if they share some, and numbers the first.
    """
    most = max(columns, key=len)
    for labels in columns:
        every = labels | most
        words_in = {text for text in every if np.isnan(number(text))}
        mixed = words_in and words_in != every
        alike = words_in == every or min(labels, key=natural) == min(most, key=natural)
        several = len(most) > 2 and labels & most and alike
        if every <= true or labels <= most or several or (len(every) == 2 and not mixed):
            continue
        example = every if labels & most and (words_in or len(most) > 2) else most if _counts(labels) else labels
        names = " and ".join(dict.fromkeys([columns[most], columns[labels]]))
        runs = {"the predicted classes": most, "those of another run": labels}
        raise _mismatch(names, runs, sorted(example, key=natural))


def _counts(labels: Collection[str]) -> bool:
    """Return whether labels are the numbers of as many classes, from 0."""
    return set(labels) == set(map(str, range(len(labels))))


def _mismatch(name: str, classes: Mapping[str, Collection[str]], example: Sequence[str]) -> UserError:
    shown = " and ".join(f"{whose} ({','.join(sorted(texts, key=natural)[:6])})" for whose, texts in classes.items())

    def first(text: str) -> bool:  # as inactive comes before active, and insoluble before soluble
        others = [other.casefold() for other in example if other.isalpha() and other != text]
        return negative(text) or text.casefold().endswith(tuple(others))

    if len(example) > FEW:
        return UserError(f"{name}: {shown} do not match: write them alike or, if they are values, add --kind values")
    order = typed(sorted(example, key=lambda text: not first(text)))
    return UserError(
        f"{name}: {shown} do not match: write them alike, or name the classes in the order of their numbers or "
        f"probabilities with --classes, e.g. --classes {order}"
    )


def _index(name: str, texts: set[str], classes: tuple[str, ...], by_name: bool = False) -> dict[str, int]:
    """Return the index of each text among the classes: by its name, or unless ``by_name``, by its number from 0."""
    named = {text: classes.index(text) for text in texts if text in classes}
    numbers = {str(i): i for i in range(0 if by_name else len(classes))}
    counted = {text: numbers[text] for text in texts if text in numbers}
    if len(named) == len(counted) == len(texts) and named != counted:
        raise UserError(
            f"{name}: {', '.join(sorted(texts))} may be names or numbers of the classes {', '.join(classes)}: write "
            "the classes as words"
        )
    chosen = named if len(named) == len(texts) or len(named) > len(counted) else counted
    if odd := sorted(texts - chosen.keys(), key=natural):
        raise UserError(f"{name}: {odd[0]!r} is none of the classes {', '.join(classes)}: name them all with --classes")
    return chosen
