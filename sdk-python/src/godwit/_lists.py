"""Lists: the first page, all records across the pages, or one page at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from ._errors import GodwitError
from ._records import ApiResponse, Record, response_of

T = TypeVar("T")


class PageBase(Generic[T]):
    """One page of a list. A page can be short or even empty although ``has_more`` is true."""

    data: list[T]
    has_more: bool
    next_cursor: str | None
    response: ApiResponse

    def __init__(self, record: Record, cursor: str | None) -> None:
        self.data = record["data"]
        self.has_more = record["has_more"]
        self.next_cursor = record["next_cursor"]
        self.response = response_of(record)
        self._cursor = cursor

    def __repr__(self) -> str:
        return f"<page of {len(self.data)} records, has_more={self.has_more}>"

    def _following(self) -> str | None:
        """Returns the cursor of the next page, or None after the last one."""
        if not self.has_more or self.next_cursor is None:
            return None
        # A cursor that leads to its own page is a fault of the server and would loop forever.
        if self.next_cursor == self._cursor:
            raise GodwitError("the list cannot be continued: the cursor of a page leads to the same page")
        return self.next_cursor


class Page(PageBase[T]):
    """One page of a list, which can fetch the page after it."""

    def __init__(self, record: Any, cursor: str | None, fetch: Callable[[str | None], Page[T]]) -> None:
        super().__init__(record, cursor)
        self._fetch = fetch

    def next_page(self) -> Page[T] | None:
        """Fetches the next page. Returns None after the last one."""
        cursor = self._following()
        return None if cursor is None else self._fetch(cursor)


class Pages(Generic[T]):
    """A list. Iterate it to get all records; the loop fetches each page when it needs it. No request is sent before."""

    def __init__(self, fetch: Callable[[str | None], Page[T]]) -> None:
        self._fetch = fetch
        self._first: Page[T] | None = None

    def first_page(self) -> Page[T]:
        """Fetches the first page, once."""
        if self._first is None:
            self._first = self._fetch(None)
        return self._first

    def page(self, cursor: str) -> Page[T]:
        """Fetches the page at the ``next_cursor`` of another page."""
        return self._fetch(cursor)

    @property
    def data(self) -> list[T]:
        """The records of the first page."""
        return self.first_page().data

    @property
    def has_more(self) -> bool:
        """Whether there are records after the first page."""
        return self.first_page().has_more

    def pages(self) -> Iterator[Page[T]]:
        """Iterates over the pages instead of the records."""
        page: Page[T] | None = self._fetch(None)
        while page is not None:
            yield page
            page = page.next_page()

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            yield from page.data
