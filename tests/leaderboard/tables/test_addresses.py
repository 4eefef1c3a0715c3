"""Names of the cells of a table."""

from leaderboard.tables.addresses import addresses
from leaderboard.tables.table import MISSING, Table, Value

ONE = Value("1.0", 1.0)


def table(header: tuple[str, ...], *rows: tuple[str | Value, ...], over: tuple[tuple[str, int], ...] = ()) -> Table:
    return Table("t", "Title", "Caption.", header, rows, over=over)


def test_a_row_has_as_many_names_as_tell_it_from_others_and_an_empty_one_is_that_above():
    found = addresses(table(("Dataset", "Method", "MAE"), ("ESOL", "ERM", ONE), ("", "SVM", ONE), ("Lipo", "ERM", ONE)))
    assert [row[2] for row in found] == ["esol.erm.mae", "esol.svm.mae", "lipo.erm.mae"]
    found = addresses(table(("Method", "Remark", "MAE"), ("ERM", "none", ONE), ("SVM", "none", ONE)))
    assert found[0] == ("", "erm.remark", "erm.mae")
    assert addresses(table(("Method", "n", "m"), ("ERM", Value(MISSING), ONE))) == (("", "", "erm.m"),), "an empty cell"


def test_a_column_has_the_name_above_and_its_unit_only_where_others_are_called_the_same():
    header = ("Method", "Churn", "Churn (% of MAE)", "rank (of 9)", "rank (of 9)")
    (found,) = addresses(table(header, ("ERM", ONE, ONE, ONE, ONE), over=(("", 3), ("paper", 1), ("halves", 1))))
    assert found == ("", "erm.churn", "erm.churn-of-mae", "erm.paper-rank", "erm.halves-rank")


def test_rows_and_columns_of_one_name_are_numbered_so_that_no_address_leads_to_two_cells():
    found = addresses(table(("Method", "n", "n"), ("ERM", ONE, ONE), ("ERM", ONE, ONE)))
    assert [address for row in found for address in row if address] == ["erm.n", "erm.n-2", "erm-2.n", "erm-2.n-2"]
