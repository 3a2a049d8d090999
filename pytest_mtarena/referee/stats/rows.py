"""Rows of sufficient statistics of several metrics, kept as numbers and not as objects."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import overload

from pytest_mtarena.protocols import Statistics

Row = Mapping[str, Sequence[float]]


class _Column:
    """The statistics of one metric: the rows that have them, end to end."""

    def __init__(self, width: int, before: int) -> None:
        self.width = width
        self.values = array("d")
        self.place = array("q", [-1]) * before
        """For each row the place of its statistics among those that are there; -1 for none."""


class StatisticsRows(Sequence[Row]):
    """A sequence of mappings from metric ids to statistics: 8 bytes a number.

    A row whose statistics of a metric are of another width than the first row's has none of it.
    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._count = 0
        self._columns: dict[str, _Column] = {}
        for row in rows:
            self.append(row)

    def append(self, row: Row) -> None:
        """Add a row."""
        for name, values in row.items():
            column = self._columns.get(name)
            if column is None:
                column = self._columns[name] = _Column(len(values), self._count)
            if len(values) == column.width:
                column.place.append(len(column.values) // column.width if column.width else 0)
                column.values.extend(values)
        self._count += 1
        for column in self._columns.values():
            if len(column.place) < self._count:
                column.place.append(-1)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._count))]
        if not -self._count <= index < self._count:
            raise IndexError(index)
        return {
            name: column.values[at * column.width : (at + 1) * column.width].tolist()
            for name, column in self._columns.items()
            if (at := column.place[index]) >= 0
        }

    def lacking(self, names: Iterable[str], rows: Sequence[int]) -> list[int]:
        """Return the positions in ``rows`` of those that lack the statistics of any metric."""
        import numpy as np

        lacks = np.zeros(len(rows), dtype=bool)
        for name in names:
            column = self._columns.get(name)
            lacks |= True if column is None else np.asarray(column.place)[list(rows)] < 0
        return [int(i) for i in np.flatnonzero(lacks)]

    def table(self, name: str, rows: Sequence[int]) -> Statistics:
        """Return the statistics of a metric, shape (len(rows), width); NaN where there are none.

        Not to be written to: it is no copy when the rows are all there are, in their order.
        """
        import numpy as np

        column = self._columns.get(name)
        if column is None:
            return np.full((len(rows), 1), np.nan)
        whole = len(column.values) == self._count * column.width
        if whole and list(rows) == list(range(self._count)):
            return np.asarray(column.values).reshape(-1, column.width)
        table = np.full((len(rows), column.width), np.nan)
        at = np.asarray(column.place)[list(rows)]
        values = np.asarray(column.values).reshape(-1, column.width)
        table[at >= 0] = values[at[at >= 0]]
        return table
