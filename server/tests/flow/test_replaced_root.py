"""A folder that takes another one's name is another folder: removed and cloned or added again."""

import pytest

from live_memory.core.errors import InvalidRequest
from live_memory.flow.jobs import silent
from tests.support.doubles.in_memory_sandbox import InMemorySandbox
from tests.support.memory import APP, House, a_question, app_house


@pytest.mark.promise("never-falsely-fresh")
async def test_an_answer_is_about_the_folder_that_has_the_name_now() -> None:
    """D5, C23."""
    house = app_house()
    async with house.hub() as hub:
        await hub.ask("/app", a_question(), progress=silent)
        house.sandbox.is_replaced = True
        house.sandboxes["/app"] = InMemorySandbox({**APP, "app/config.py": b"RETRY_LIMIT = 9\n"})
        _, answer = await hub.ask("/app", a_question(), progress=silent)
        assert "RETRY_LIMIT = 9" in answer.text
        assert house.opened == 2
        # What was asked before is still there.
        assert (await hub.stats("/app")).questions == 2


async def test_a_folder_that_is_replaced_all_the_time_is_opened_once_more_and_no_more() -> None:
    house = app_house()
    async with house.hub() as hub:
        await hub.opened("/app")
        house.sandbox.is_replaced = True
        await hub.opened("/app")
        assert house.opened == 2


async def test_a_folder_that_is_gone_when_it_is_opened_again_is_told_so() -> None:
    class Gone(House):
        async def open(self, workspace: object) -> InMemorySandbox:
            if self.sandbox.is_replaced:
                raise InvalidRequest("the workspace's root is gone")
            return self.sandbox

    house = Gone({"/app": InMemorySandbox(APP)})
    async with house.hub() as hub:
        await hub.opened("/app")
        house.sandbox.is_replaced = True
        with pytest.raises(InvalidRequest, match="gone"):
            await hub.opened("/app")
