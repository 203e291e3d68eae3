"""Lists of the asynchronous client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from typing import Any, Generic, TypeVar

from ._lists import PageBase

T = TypeVar("T")


class AsyncPage(PageBase[T]):
    """One page of a list, which can fetch the page after it."""

    def __init__(self, record: Any, cursor: str | None, fetch: Callable[[str | None], Awaitable[AsyncPage[T]]]) -> None:
        super().__init__(record, cursor)
        self._fetch = fetch

    async def next_page(self) -> AsyncPage[T] | None:
        """Fetches the next page. Returns None after the last one."""
        cursor = self._following()
        return None if cursor is None else await self._fetch(cursor)


class AsyncPages(Generic[T]):
    """A list. Await it to get the first page, or iterate it with ``async for`` to get all records."""

    def __init__(self, fetch: Callable[[str | None], Awaitable[AsyncPage[T]]]) -> None:
        self._fetch = fetch
        self._first: AsyncPage[T] | None = None

    async def first_page(self) -> AsyncPage[T]:
        """Fetches the first page, once."""
        if self._first is None:
            self._first = await self._fetch(None)
        return self._first

    def __await__(self) -> Generator[Any, None, AsyncPage[T]]:
        return self.first_page().__await__()

    async def page(self, cursor: str) -> AsyncPage[T]:
        """Fetches the page at the ``next_cursor`` of another page."""
        return await self._fetch(cursor)

    async def pages(self) -> AsyncIterator[AsyncPage[T]]:
        """Iterates over the pages instead of the records."""
        page: AsyncPage[T] | None = await self._fetch(None)
        while page is not None:
            yield page
            page = await page.next_page()

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for record in page.data:
                yield record
